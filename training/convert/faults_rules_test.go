package convert

import (
	"testing"

	"stoic/schema"
)

// TestFaultRules covers what an API server rejects in a pod, by the reported path, and similar values that it accepts.
func TestFaultRules(t *testing.T) {
	object := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	volume, probe, variable := inPod+".volumes[0]", inContainer+".livenessProbe", inContainer+".env[0]"
	mounted := func(source string, fields ...any) change {
		return change{volume: object("name", "a", source, object(fields...))}
	}
	from := func(source ...any) change {
		return change{variable: object("name", "A", "valueFrom", object(source...))}
	}
	tolerate := func(fields ...any) change { return change{inPod + ".tolerations[0]": object(fields...)} }
	missing := func(place string) string { return reject(schema.MissingField, place) }
	hold(t, []fault{
		{"a config map", mounted("configMap", "name", "a"), run},
		{"a config map without a name", mounted("configMap"), missing(volume + ".configMap.name")},
		{"a config map with the name of another", mounted("configMap", "configMapName", "a"), missing(volume + ".configMap.name")},
		{"a secret", mounted("secret", "secretName", "a"), run},
		{"a secret with a config map's name", mounted("secret", "name", "a"), missing(volume + ".secret.secretName")},
		{"an optional secret without a name", mounted("secret", "optional", true), missing(volume + ".secret.secretName")},
		{"a claim with a name", mounted("persistentVolumeClaim", "name", "a"), missing(volume + ".persistentVolumeClaim.claimName")},
		{"permissions in octal", mounted("secret", "secretName", "a", "defaultMode", int64(0o644)), run},
		{"permissions in decimal", mounted("secret", "secretName", "a", "defaultMode", int64(644)), reject(schema.OutOfRange, volume+".secret.defaultMode")},
		{"a size limit", mounted("emptyDir", "sizeLimit", "1e3"), run},
		{"a size limit below nothing", mounted("emptyDir", "sizeLimit", int64(-1)), reject(schema.OutOfRange, volume+".emptyDir.sizeLimit")},
		{"no size limit", mounted("emptyDir", "sizeLimit", nil), run},
		{"a directory of the host of any type", mounted("hostPath", "path", "a", "type", ""), run},
		{"a source to come", from("futureRef", object()), warn(schema.UnknownField, variable+".valueFrom.futureRef")},
		{"a source to come beside one", from("futureRef", nil, "fieldRef", object("fieldPath", "metadata.name")), warn(schema.UnknownField, variable+".valueFrom.futureRef")},
		{"no source", from("fieldRef", nil), missing(variable + ".valueFrom")},
		{"a source in the wrong case", from("fieldref", object("fieldPath", "metadata.name")),
			missing(variable+".valueFrom") + "\nwarning UnknownField " + variable + ".valueFrom.fieldref"},
		{"no value", change{variable: object("name", "A", "valueFrom", nil)}, run},
		{"a probe", change{probe: object("tcpSocket", object("port", "tfjob-port"))}, run},
		{"no probe", change{probe: nil}, run},
		{"an empty probe", change{probe: object("periodSeconds", int64(3))}, missing(probe)},
		{"a probe to come", change{probe: object("future", object())}, warn(schema.UnknownField, probe+".future")},
		{"a probe of no port", change{probe: object("httpGet", object("path", "/"))}, missing(probe + ".httpGet.port")},
		{"a probe of a port in quotes", change{probe: object("httpGet", object("port", "8080"))}, reject(schema.InvalidName, probe+".httpGet.port")},
		{"two probes", change{probe: object("httpGet", object("port", int64(1)), "exec", object("command", []any{"a"}))}, reject(schema.Conflict, probe+".httpGet")},
		{"a hook that sleeps", change{inContainer + ".lifecycle.preStop.sleep.seconds": int64(0)}, run},
		{"everything tolerated", tolerate("operator", "Exists"), run},
		{"a comparison", tolerate("operator", "Gt", "key", "a", "value", "3"), run},
		{"a taint by default", tolerate("operator", "", "key", "a"), run},
		{"nothing tolerated", tolerate(), missing(inPod + ".tolerations[0].key")},
		{"an operator in the wrong case", tolerate("operator", "exists"), reject(schema.InvalidValue, inPod+".tolerations[0].operator")},
		{"nobody's policy", change{inPod + ".dnsPolicy": ""}, run},
		{"a policy in the wrong case", change{inPod + ".dnsPolicy": "default"}, reject(schema.InvalidValue, inPod+".dnsPolicy")},
		{"no name servers", change{inPod + ".dnsPolicy": "None"}, missing(inPod + ".dnsConfig.nameservers")},
		{"name servers", change{inPod + ".dnsPolicy": "None", inPod + ".dnsConfig.nameservers[0]": "10.0.0.1", inPod + ".dnsConfig.searches[0]": "team.svc.cluster.local"}, run},
		{"no ephemeral containers", change{inPod + ".ephemeralContainers": []any{}}, run},
		{"ephemeral containers", change{inPod + ".ephemeralContainers": []any{object("name", "a", "image", "a")}}, reject(schema.InvalidValue, inPod+".ephemeralContainers")},
		{"a finalizer from before", change{inTemplate + ".metadata.finalizers": []any{"orphan"}}, run},
		{"a finalizer without a name", change{inTemplate + ".metadata.finalizers": []any{""}}, reject(schema.InvalidName, inTemplate+".metadata.finalizers[0]")},
		{"a claim template", mounted("ephemeral", "volumeClaimTemplate", object("spec", object("accessModes", []any{"ReadWriteOnce"}, "resources", object("requests", object("storage", "1Gi"))))), run},
		{"a claim template without modes", mounted("ephemeral", "volumeClaimTemplate", object("spec", object("accessModes", []any{}))),
			also(missing(volume+".ephemeral.volumeClaimTemplate.spec.accessModes"), schema.MissingField, volume+".ephemeral.volumeClaimTemplate.spec.resources")},
		{"a claim template that asks for nothing", mounted("ephemeral", "volumeClaimTemplate", object("spec", object("accessModes", []any{"ReadWriteOnce"}, "resources", object()))),
			missing(volume + ".ephemeral.volumeClaimTemplate.spec.resources.requests")},
		{"a list for a name", mounted("configMap", "name", []any{}), reject(schema.TypeMismatch, volume+".configMap.name")},
		{"a text for a list", change{probe: object("exec", object("command", ""))}, reject(schema.TypeMismatch, probe+".exec.command")},
		{"pods of a gang", change{inPolicy + ".schedulingPolicy.minResources.pods": int64(3)}, run},
		{"less than no pods", change{inPolicy + ".schedulingPolicy.minResources.cpu": "-1"}, reject(schema.OutOfRange, inPolicy+".schedulingPolicy.minResources.cpu")},
	})
}
