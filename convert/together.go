package convert

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
)

// Constraints between fields of one object. The walk has reported values of a wrong type.

// containersOfTemplate silences the warning of containers beside an absent spec: the problem of the absent spec names them.
func containersOfTemplate(template map[string]any, key string) Advice {
	return Advice{Silent: key == "containers" && template["spec"] == nil}
}

// fieldsOfContainers knows the fields of a container that are written beside the containers.
func fieldsOfContainers(_ map[string]any, key string) Advice {
	if containerFields[key] {
		return Advice{In: "containers"}
	}
	return Advice{}
}

var containerFields = func() map[string]bool {
	names := map[string]bool{}
	t := reflect.TypeFor[corev1.Container]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}()

func nameservers(r *Reader, pod map[string]any) {
	config, ok := pod["dnsConfig"].(map[string]any)
	if pod["dnsPolicy"] != "None" || !ok && pod["dnsConfig"] != nil || !absent(config["nameservers"]) {
		return
	}
	r.Enter("dnsConfig")
	r.ProblemIn("nameservers", schema.MissingField, "", "be set", "`dnsPolicy: None` leaves the pod without any other")
	r.Leave()
}

func ephemeralContainers(r *Reader, pod map[string]any) {
	if list, _ := pod["ephemeralContainers"].([]any); len(list) > 0 {
		r.ProblemIn("ephemeralContainers", schema.InvalidValue, "a list", "be left out", "they can only be added to a pod that runs")
	}
}

func localhostProfile(r *Reader, profile map[string]any) {
	kind, _ := profile["type"].(string)
	given := profile["localhostProfile"]
	switch {
	case kind == "Localhost" && given == nil:
		r.ProblemIn("localhostProfile", schema.MissingField, "", "be set", "`type: Localhost` asks for it")
	case (kind == "RuntimeDefault" || kind == "Unconfined") && given != nil:
		r.ProblemIn("localhostProfile", schema.Conflict, "`localhostProfile` beside `type: "+kind+"`", "be left out", "or write `type: Localhost`")
	}
}

func subPaths(r *Reader, mount map[string]any) {
	if !absent(mount["subPath"]) && !absent(mount["subPathExpr"]) {
		r.ProblemIn("subPathExpr", schema.Conflict, "`subPathExpr` beside `subPath`", "be the only one of the two", "remove one")
	}
}

func toleration(r *Reader, fields map[string]any) {
	operator, effect := fields["operator"], fields["effect"]
	if absent(fields["key"]) && (absent(operator) || operator == "Equal") {
		r.ProblemIn("key", schema.MissingField, "", "be set", "or write `operator: Exists` to tolerate every taint")
	}
	if operator == "Exists" && !absent(fields["value"]) {
		r.ProblemIn("value", schema.Conflict, "`value` beside `operator: Exists`", "be left out", "or write `operator: Equal`")
	}
	if fields["tolerationSeconds"] != nil && (absent(effect) || effect == "NoSchedule" || effect == "PreferNoSchedule") {
		r.ProblemIn("tolerationSeconds", schema.Conflict, "`tolerationSeconds` without `effect: NoExecute`", "be left out", "or write `effect: NoExecute`")
	}
}

// operands checks how many values the operator of a requirement has.
func operands(r *Reader, requirement map[string]any) {
	operator, _ := requirement["operator"].(string)
	values, ok := requirement["values"].([]any)
	if !ok && requirement["values"] != nil {
		return
	}
	switch {
	case (operator == "In" || operator == "NotIn") && len(values) == 0:
		r.ProblemIn("values", schema.MissingField, "", "be set", "`operator: "+operator+"` compares with them")
	case (operator == "Exists" || operator == "DoesNotExist") && len(values) > 0:
		r.ProblemIn("values", schema.Conflict, "`values` beside `operator: "+operator+"`", "be left out", "or write `operator: In`")
	case (operator == "Gt" || operator == "Lt") && len(values) != 1:
		r.ProblemIn("values", schema.InvalidValue, lengthOf(values), "be a list of one value", "")
	}
}

func sizeLimit(r *Reader, dir map[string]any) {
	text, ok := Written(dir["sizeLimit"])
	if !ok || plainQuantity(text) {
		return
	}
	if value, ok := schema.ParseQuantity(text); ok && value.Sign() < 0 {
		r.ProblemIn("sizeLimit", schema.OutOfRange, schema.Quote(text), "be greater than or equal to 0", "")
	}
}

func lengthOf(values []any) string {
	if len(values) == 0 {
		return "an empty list"
	}
	return "a list of several"
}
