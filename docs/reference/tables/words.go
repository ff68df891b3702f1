package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"stoic/examples"
	"stoic/schema"
	"stoic/schema/crd/check"
	"stoic/training"
	"stoic/training/kinds"
)

// codes explains the possible problems of an object.
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
` + "`training_operator_jobs_rejected_total`" + `. Codes are added, never renamed. ` + "`stoic explain CODE`" + ` also shows the example.

` + table([]string{"code", "what it means", "what to do", "how bad it is", "example"}, rows), nil
}

// crdCodes explains the possible problems of a CRD.
func crdCodes() (string, error) {
	var rows [][]string
	for _, t := range check.Topics() {
		severity := "warning"
		if t.Error {
			severity = "error"
		}
		rows = append(rows, []string{code(string(t.Code)), severity, t.Meaning})
	}
	return `# Codes of problems of definitions

What ` + "`stoic crd check`" + ` finds in a CustomResourceDefinition. ` + "`stoic explain CODE`" + ` says what to do. Warnings fail only with
` + "`--strict`" + `; ` + "`--ignore CODE`" + ` suppresses them. Codes are added, never renamed.

` + table([]string{"code", "severity", "what it means"}, rows), nil
}

// kindsPage lists the served kinds.
func kindsPage() (string, error) {
	var rows [][]string
	var anyCase []string
	for _, k := range kinds.Served() {
		if k.AnyCase {
			anyCase = append(anyCase, k.Name)
		}
		var replicaTypes, restart []string
		for _, t := range k.ReplicaTypes {
			replicaTypes = append(replicaTypes, t.Name)
			if policy := code(string(cmp.Or(t.Restart, k.Restart))); !slices.Contains(restart, policy) {
				restart = append(restart, policy)
			}
		}
		where, container, port := "the training container", code(k.Container), "none"
		if k.EnvEverywhere {
			where = "every container"
		}
		if k.FirstContainer {
			container = "the first one"
		}
		if k.Port.Name != "" {
			port = fmt.Sprintf("%s %d", code(k.Port.Name), k.Port.Number)
		}
		rows = append(rows, []string{code(k.Name), code(k.APIVersion()), code(k.Plural), code("spec." + k.ReplicaSpecsField), list(replicaTypes),
			container, port, where, strings.Join(restart, ", "), code(k.Framework)})
	}
	return `# Kinds

What the operator serves, and how the kinds differ. A replica type without ` + "`replicas`" + ` has one, the Worker of an MPIJob none. Names of
replica types are case-sensitive, except in a ` + list(anyCase) + `. Of the two versions of MPIJob the operator serves the one that the cluster serves.

` + table([]string{"kind", "group and version", "resource", "field of the replica types", "replica types", "container that trains",
		"port, if it has none of this name", "environment is added to", "restart policy, if a replica type names none", "label `framework` of metrics"}, rows) + `
## Annotations

Annotations of a job that are settings. A value that is not legal is ignored, with a warning.

` + table([]string{"annotation", "of", "a whole number from 1 to", "what it does"}, annotations()) + `
## Elastic jobs

The launcher of an ` + code(kinds.MPIJob().Name) + ` is created when all workers run; in ` + code("v2beta1") + `, with
` + code("launcherCreationPolicy: WaitForWorkersReady") + `, when all are ready. A launcher that discovers its hosts starts earlier:
its first container has the argument ` + code("--host-discovery-script") + `, and ` + code("--min-np") + ` or ` + code("--min-num-proc") + `,
else ` + code("-np") + ` or ` + code("--num-proc") + `, says for how many processes. A worker takes ` + code("slotsPerWorker") + ` of them. The
arguments may be part of a script for a shell; a variable in place of the number is not read, so use the annotation there.
` + code("discover_hosts.sh") + ` names the workers that run, and follows them.

A gang scheduler places so many workers together, and in an elastic ` + code(kinds.PyTorchJob().Name) + ` ` + code("elasticPolicy.minReplicas") + ` of
them, with the replicas of all other types. ` + code("schedulingPolicy.minAvailable") + ` replaces this number.
`, nil
}

// annotations returns the rows of the annotations that kinds read, each with its kinds.
func annotations() (rows [][]string) {
	of := map[string][]string{}
	for _, k := range kinds.Served() {
		for _, a := range k.Annotations {
			of[a.Name] = append(of[a.Name], k.Name+" of "+k.Version)
			most := strconv.FormatInt(a.Most, 10)
			if a.MostOf != "" {
				most = "the number of replicas of " + code(a.MostOf)
			}
			row := []string{code(a.Name), strings.Join(of[a.Name], ", "), most, a.Means}
			at := slices.IndexFunc(rows, func(other []string) bool { return other[0] == row[0] })
			if at < 0 {
				rows = append(rows, row)
			} else {
				rows[at] = row
			}
		}
	}
	return rows
}

// events lists the reasons in conditions and events, grouped by place.
func events() (string, error) {
	var rows [][]string
	for _, n := range training.Notices() {
		reason := n.Reason
		if n.OfKind {
			reason = "KIND" + reason
		}
		rows = append(rows, []string{code(reason), place(n.Where), n.When})
	}
	return `# Reasons in events and conditions

` + "`KIND`" + ` stands for the name of the kind: ` + "`" + kinds.TFJob().Reason(training.ReasonCreated) + "`" + `. Reasons are API: scripts and
alerts may rely on them. Events come from ` + "`training-operator`" + `.

` + table([]string{"reason", "where", "given when"}, rows) + `
## Pods that cannot run

Why a pod cannot run, or is taken away by something other than its job, is an event of the job within a second: one for each reason
that begins with ` + "`Pod`" + `, not one for each pod. It names the first pod with the words of the scheduler or the kubelet, and says how
many more there were 0.3 s later.

    pod mnist-worker-0 and 3 more: cannot be scheduled: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.

A reason that goes and comes back is reported again when the API server has dropped the first event, after an hour by
default, and when the job is suspended and resumed, also after a restart of the operator. An object that the API server refuses to
create is one event for each cause and generation. Both are counted when the event is sent, in ` + "`training_operator_job_problems_total`" + `, by framework and reason: a reason that
begins with ` + "`Pod`" + `, ` + causes() + `.
` + "`other`" + ` stands for ` + "`PodCannotRun`" + ` and for all that has no name here.
`, nil
}

// causes lists why creations are rejected.
func causes() string {
	var all []string
	for _, c := range schema.Causes() {
		all = append(all, string(c))
	}
	return "or the cause of a refusal: " + list(all)
}

// place puts the type of a condition or event into backquotes.
func place(where string) string {
	if t, is := strings.CutPrefix(where, "condition "); is {
		return "condition " + code(t)
	}
	t, _ := strings.CutSuffix(where, " event")
	return cmp.Or(code(t), where) + " event"
}
