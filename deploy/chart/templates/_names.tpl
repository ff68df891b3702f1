{{/*
The labels of every object: a list of root and of maps of further labels. They are one map, so that no key comes twice; what stands
further to the left counts, and commonLabels least. The schema lets no value have the keys that the chart writes itself.
*/}}
{{- define "training-operator.labels" -}}
{{- $root := first . -}}
{{- $labels := dict
  "app.kubernetes.io/name" $root.Chart.Name
  "app.kubernetes.io/instance" $root.Release.Name
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $root.Release.Service
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_") -}}
{{- range rest . -}}
{{- $labels = merge $labels . -}}
{{- end -}}
{{- merge $labels $root.Values.commonLabels | toYaml -}}
{{- end -}}

{{/* The selector, as a map in YAML, is that of training-operator: a Deployment cannot change it. */}}
{{- define "training-operator.selector" -}}
control-plane: kubeflow-training-operator
{{- end -}}

{{/*
One operator in a namespace: the selector of every Deployment of it is the same, and so is the lease. A second release would wait for
the lease of the first one for ever, and a Service would have the pods of both. Without a cluster, as in helm template, lookup finds
nothing.
*/}}
{{- define "training-operator.alone" -}}
{{- range (lookup "apps/v1" "Deployment" .Release.Namespace "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- if and (eq (get $labels "control-plane") "kubeflow-training-operator") (ne .metadata.name $.Values.name) (ne (get $annotations "meta.helm.sh/release-name") $.Release.Name) -}}
{{- fail (printf "the namespace %s has a training operator already, the Deployment %s: install this one in another namespace, or uninstall that one" $.Release.Namespace .metadata.name) -}}
{{- end -}}
{{- end -}}
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
The resources, as GROUP/RESOURCE, that are of use with some values only, and whether they are with these: a map in YAML. The others
always are.
*/}}
{{- define "training-operator.uses" -}}
{{- $kinds := include "training-operator.kinds" . | fromYaml -}}
{{- $gang := .Values.gangSchedulerName | lower -}}
autoscaling/horizontalpodautoscalers: {{ or (hasKey $kinds "PyTorchJob") (hasKey $kinds "PaddleJob") }}
scheduling.volcano.sh/podgroups: {{ eq $gang "volcano" }}
scheduling.x-k8s.io/podgroups: {{ not (or (eq $gang "") (eq $gang "volcano")) }}
scheduling.k8s.io/priorityclasses: {{ ne $gang "" }}
scheduling.k8s.io/workloads: {{ .Values.nativeGangScheduling }}
scheduling.k8s.io/podgroups: {{ .Values.nativeGangScheduling }}
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
{{- $uses := include "training-operator.uses" $root | fromYaml -}}
{{- $rules := list -}}
{{- range (index ($root.Files.Get "files/permissions.yaml" | fromYaml).roles $role).rules -}}
{{- $rule := deepCopy . -}}
{{- if hasKey . "apiGroups" -}}
{{- $groups := list -}}
{{- $resources := list -}}
{{- range $group := .apiGroups -}}
{{- range $resource := $rule.resources -}}
{{- $used := get $uses (printf "%s/%s" $group $resource) | default false -}}
{{- if not (hasKey $uses (printf "%s/%s" $group $resource)) -}}
{{- $used = or (ne $group "kubeflow.org") (has (splitList "/" $resource | first) $plurals) -}}
{{- else if and $local (eq $resource "priorityclasses") -}}
{{- $used = false -}}
{{- end -}}
{{- if $used -}}
{{- $groups = append $groups $group | uniq -}}
{{- $resources = append $resources $resource | uniq -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $rule = set (set $rule "apiGroups" $groups) "resources" $resources -}}
{{- end -}}
{{- if or $rule.resources (not (hasKey . "apiGroups")) -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{/*
The rules of the role for the lease: those of deploy/rbac, with the name that extraArgs give the lease, if they do. The last flag
counts, as it does for the operator.
*/}}
{{- define "training-operator.leaseRules" -}}
{{- $rules := list -}}
{{- range include "training-operator.rules" (list . "training-operator-leader-election" true) | fromYamlArray -}}
{{- $rule := . -}}
{{- range $.Values.extraArgs -}}
{{- if and (hasKey $rule "resourceNames") (regexMatch "^--?leader-election-id=" .) -}}
{{- $rule = set $rule "resourceNames" (list (regexReplaceAll "^--?leader-election-id=" . "")) -}}
{{- end -}}
{{- end -}}
{{- $rules = append $rules $rule -}}
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

{{/* The Secret with the certificate of the conversion webhook; empty if that is not served. What contradicts other values fails. */}}
{{- define "training-operator.conversionSecret" -}}
{{- with .Values.conversion -}}
{{- if .kinds -}}
{{- if not .enabled -}}
{{- fail "conversion.kinds: their CRDs name the webhook, which is not served; set conversion.enabled" -}}
{{- end -}}
{{- if not $.Values.crds.enabled -}}
{{- fail "conversion.kinds: the chart does not install their CRDs; set crds.enabled" -}}
{{- end -}}
{{- if and (not .certificate.caBundle) (not .certificate.certManager.enabled) -}}
{{- fail "conversion.certificate.caBundle: must be set for conversion.kinds, or certManager.enabled" -}}
{{- end -}}
{{- end -}}
{{- if and .certificate.caBundle .certificate.certManager.enabled -}}
{{- fail "conversion.certificate.caBundle: found with certManager.enabled, must be left out: cert-manager writes it into the CRDs" -}}
{{- end -}}
{{- range .kinds -}}
{{- if not (hasKey (include "training-operator.kinds" $ | fromYaml) .) -}}
{{- fail (printf "conversion.kinds: found %s, must be one of kinds" .) -}}
{{- end -}}
{{- end -}}
{{- if and (has "MPIJob" .kinds) (ne $.Values.mpiJob.version "v1") -}}
{{- fail "conversion.kinds: found MPIJob, which is stored as v1 then; leave mpiJob.version out" -}}
{{- end -}}
{{- if .enabled -}}
{{- .certificate.secretName | default (printf "%s-conversion" $.Values.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A Certificate of cert-manager: a list of root, the end of its name, its Secret, the name of a Service, and the issuerRef. */}}
{{- define "training-operator.certificate" -}}
{{- $root := index . 0 -}}
{{- $service := index . 3 -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ printf "%s-%s" $root.Values.name (index . 1) | quote }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "training-operator.labels" (list $root) | nindent 4 }}
spec:
  secretName: {{ index . 2 | quote }}
  {{- if not (index . 4).name }}
  # It is that of the issuer, too, which must have one.
  subject:
    organizations: [{{ $root.Values.name | quote }}]
  {{- end }}
  dnsNames:
    - {{ printf "%s.%s.svc" $service $root.Release.Namespace | quote }}
    - {{ printf "%s.%s.svc.cluster.local" $service $root.Release.Namespace | quote }}
  privateKey:
    rotationPolicy: Always
  issuerRef:
    {{- merge (deepCopy (index . 4)) (dict "name" $root.Values.name "kind" "Issuer") | toYaml | nindent 4 }}
{{- end -}}
