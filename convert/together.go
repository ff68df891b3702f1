package convert

import "stoic/schema"

// What fields of one object ask of each other. Values of a wrong type have been told by the walk.

func nameservers(r *reader, pod map[string]any) {
	config, ok := pod["dnsConfig"].(map[string]any)
	if pod["dnsPolicy"] != "None" || !ok && pod["dnsConfig"] != nil || !absent(config["nameservers"]) {
		return
	}
	r.enter("dnsConfig")
	r.problemIn("nameservers", schema.MissingField, "", "be set", "`dnsPolicy: None` leaves the pod without any other")
	r.leave()
}

func ephemeralContainers(r *reader, pod map[string]any) {
	if list, _ := pod["ephemeralContainers"].([]any); len(list) > 0 {
		r.problemIn("ephemeralContainers", schema.InvalidValue, "a list", "be left out", "they can only be added to a pod that runs")
	}
}

func localhostProfile(r *reader, profile map[string]any) {
	kind, _ := profile["type"].(string)
	given := profile["localhostProfile"]
	switch {
	case kind == "Localhost" && given == nil:
		r.problemIn("localhostProfile", schema.MissingField, "", "be set", "`type: Localhost` asks for it")
	case (kind == "RuntimeDefault" || kind == "Unconfined") && given != nil:
		r.problemIn("localhostProfile", schema.Conflict, "`localhostProfile` beside `type: "+kind+"`", "be left out", "or write `type: Localhost`")
	}
}

func subPaths(r *reader, mount map[string]any) {
	if !absent(mount["subPath"]) && !absent(mount["subPathExpr"]) {
		r.problemIn("subPathExpr", schema.Conflict, "`subPathExpr` beside `subPath`", "be the only one of the two", "remove one")
	}
}

func toleration(r *reader, fields map[string]any) {
	operator, effect := fields["operator"], fields["effect"]
	if absent(fields["key"]) && (absent(operator) || operator == "Equal") {
		r.problemIn("key", schema.MissingField, "", "be set", "or write `operator: Exists` to tolerate every taint")
	}
	if operator == "Exists" && !absent(fields["value"]) {
		r.problemIn("value", schema.Conflict, "`value` beside `operator: Exists`", "be left out", "or write `operator: Equal`")
	}
	if fields["tolerationSeconds"] != nil && (absent(effect) || effect == "NoSchedule" || effect == "PreferNoSchedule") {
		r.problemIn("tolerationSeconds", schema.Conflict, "`tolerationSeconds` without `effect: NoExecute`", "be left out", "or write `effect: NoExecute`")
	}
}

// operands: how many values the operator of a requirement takes.
func operands(r *reader, requirement map[string]any) {
	operator, _ := requirement["operator"].(string)
	values, ok := requirement["values"].([]any)
	if !ok && requirement["values"] != nil {
		return
	}
	switch {
	case (operator == "In" || operator == "NotIn") && len(values) == 0:
		r.problemIn("values", schema.MissingField, "", "be set", "`operator: "+operator+"` compares with them")
	case (operator == "Exists" || operator == "DoesNotExist") && len(values) > 0:
		r.problemIn("values", schema.Conflict, "`values` beside `operator: "+operator+"`", "be left out", "or write `operator: In`")
	case (operator == "Gt" || operator == "Lt") && len(values) != 1:
		r.problemIn("values", schema.InvalidValue, lengthOf(values), "be a list of one value", "")
	}
}

func sizeLimit(r *reader, dir map[string]any) {
	text, ok := written(dir["sizeLimit"])
	if !ok || plainQuantity(text) {
		return
	}
	if value, ok := schema.ParseQuantity(text); ok && value.Sign() < 0 {
		r.problemIn("sizeLimit", schema.OutOfRange, schema.Quote(text), "be greater than or equal to 0", "")
	}
}

func lengthOf(values []any) string {
	if len(values) == 0 {
		return "an empty list"
	}
	return "a list of several"
}
