package main

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"stoic/examples"
	"stoic/schema"
)

// codes explains what may be wrong with an object.
func codes() (string, error) {
	var rows [][]string
	for _, c := range schema.Codes() {
		if c.Meaning() == "" || c.Remedy() == "" {
			return "", fmt.Errorf("code %s says nothing of itself", c)
		}
		shown, err := examples.MistakeOf(string(c))
		if err != nil {
			return "", err
		}
		rows = append(rows, []string{code(string(c)), c.Meaning(), c.Remedy(), c.Severity(),
			"[" + strings.TrimSuffix(path.Base(shown.File), ".yaml") + "](../../examples/" + shown.File + ")"})
	}
	return `# Codes of problems

Every problem of an object has a code. It is printed by ` + "`stoic validate`" + ` and is the label ` + "`reason`" + ` of
` + "`training_operator_jobs_rejected_total`" + `. The list is closed: codes are added, never renamed.
` + "`stoic explain CODE`" + ` prints the same, with the example and what is said of it.

` + table([]string{"code", "what it means", "what to do", "how bad it is", "example"}, rows), nil
}

// kinds lists what is served.
func kinds() (string, error) {
	var rows [][]string
	for _, k := range schema.Kinds() {
		var roles []string
		for _, r := range k.Roles {
			roles = append(roles, r.Name)
		}
		where := "the training container"
		if k.EnvEverywhere {
			where = "every container"
		}
		rows = append(rows, []string{code(k.Name), code(k.APIVersion()), code(k.Plural), code("spec." + k.RolesField), list(roles),
			code(k.Container), fmt.Sprintf("%s %d", code(k.Port.Name), k.Port.Number), where, code(string(k.Restart)), code(k.Framework)})
	}
	return `# Kinds

What the operator serves, and in what the kinds differ. A role that names no number of replicas has one; names of
roles are read without regard to case.

` + table([]string{"kind", "group and version", "resource", "field of the roles", "roles", "container that trains",
		"port, if it has none of this name", "environment is added to", "restart policy, if a role names none", "label `framework` of metrics"}, rows), nil
}

// events lists the reasons in conditions and events, those of one place together.
func events() (string, error) {
	var rows [][]string
	for _, n := range schema.Notices() {
		reason := n.Reason
		if n.OfKind {
			reason = "KIND" + reason
		}
		rows = append(rows, []string{code(reason), place(n.Where), n.When})
	}
	return `# Reasons in events and conditions

` + "`KIND`" + ` stands for the name of the kind: ` + "`" + schema.TFJob().Reason(schema.ReasonCreated) + "`" + `. Reasons are API: scripts and
alerts may rely on them. Events come from ` + "`training-operator`" + `.

` + table([]string{"reason", "where", "given when"}, rows), nil
}

// place puts the type of a condition or event into backquotes.
func place(where string) string {
	if t, is := strings.CutPrefix(where, "condition "); is {
		return "condition " + code(t)
	}
	t, _ := strings.CutSuffix(where, " event")
	return cmp.Or(code(t), where) + " event"
}
