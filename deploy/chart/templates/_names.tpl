{{/* The labels of every object. */}}
{{- define "training-operator.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The selector is that of training-operator: a Deployment cannot change it. */}}
{{- define "training-operator.selector" -}}
control-plane: kubeflow-training-operator
{{- end -}}

{{- define "training-operator.serviceAccount" -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.name: must be set where serviceAccount.create is false" -}}
{{- end -}}
{{- .Values.serviceAccount.name | default .Values.name -}}
{{- end -}}

{{- define "training-operator.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- .repository }}{{ with .tag }}:{{ . }}{{ end }}@{{ .digest -}}
{{- else -}}
{{- .repository }}:{{ .tag | default $.Chart.AppVersion -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The kinds that are served, with their plurals: a map as YAML. */}}
{{- define "training-operator.kinds" -}}
{{- $served := dict -}}
{{- range $kind, $plural := (.Files.Get "files/permissions.yaml" | fromYaml).kinds -}}
{{- if or (not $.Values.kinds) (has $kind $.Values.kinds) -}}
{{- $_ := set $served $kind $plural -}}
{{- end -}}
{{- end -}}
{{- toYaml $served -}}
{{- end -}}

{{/* Non-empty if MPIJobs of this version are served: a list of root and version. */}}
{{- define "training-operator.mpi" -}}
{{- $root := first . -}}
{{- if and (eq $root.Values.mpiJob.version (last .)) (hasKey (include "training-operator.kinds" $root | fromYaml) "MPIJob") -}}
true
{{- end -}}
{{- end -}}

{{/*
The rules of a role for the kinds that are served: a list of root, name of the role, and whether it is a Role. Priority classes
belong to no namespace, so no Role can grant them.
*/}}
{{- define "training-operator.rules" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $local := index . 2 -}}
{{- $plurals := include "training-operator.kinds" $root | fromYaml | values -}}
{{- $rules := list -}}
{{- range (index ($root.Files.Get "files/permissions.yaml" | fromYaml).roles $role).rules -}}
{{- $resources := .resources -}}
{{- if has "kubeflow.org" .apiGroups -}}
{{- $resources = list -}}
{{- range .resources -}}
{{- if has (splitList "/" . | first) $plurals -}}
{{- $resources = append $resources . -}}
{{- end -}}
{{- end -}}
{{- else if and $local (has "priorityclasses" .resources) -}}
{{- $resources = list -}}
{{- end -}}
{{- if $resources -}}
{{- $rules = append $rules (set (deepCopy .) "resources" $resources) -}}
{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{/* Non-empty if an object of another operator's kind is to be rendered: a list of root, name of the value, kind. */}}
{{- define "training-operator.render" -}}
{{- $root := index . 0 -}}
{{- $mode := (index $root.Values (index . 1)).render -}}
{{- $served := $root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" (index . 2)) -}}
{{- if and (eq $mode "failIfMissing") (not $served) -}}
{{- fail (printf "%s.render is failIfMissing, and the cluster does not serve %s of monitoring.coreos.com/v1" (index . 1) (index . 2)) -}}
{{- end -}}
{{- if or (eq $mode "alwaysRender") (and $served (ne $mode "never")) -}}
true
{{- end -}}
{{- end -}}

{{/* The Secret with the certificate for the metrics; empty if there is none. */}}
{{- define "training-operator.metricsSecret" -}}
{{- with .Values.metrics.certificate -}}
{{- if and (or .secretName .certManager.enabled) (not $.Values.metrics.secure) -}}
{{- fail "metrics.certificate: metrics are served without TLS; set metrics.secure" -}}
{{- end -}}
{{- if .secretName -}}
{{- .secretName -}}
{{- else if .certManager.enabled -}}
{{- $.Values.name }}-metrics
{{- end -}}
{{- end -}}
{{- end -}}
