package main

import (
	"slices"

	"stoic/training/kinds"
)

// additions says what the operator adds to pods, and which value counts where the user has set one, too.
func additions() (string, error) {
	var rows [][]string
	for _, k := range kinds.Served() {
		for _, v := range k.Variables {
			winner := "the operator's"
			if v.UserWins {
				winner = "the user's"
			}
			if v.UserWinsIf != "" {
				winner += "; the user's if " + v.UserWinsIf
			}
			row := []string{code(k.Name) + " " + code(k.Version), code(v.Name), v.When, winner, code(v.Instead)}
			rows = joined(rows, row)
		}
	}
	return `# What is added to pods, and which value counts

A pod of a job is its template and what this page lists. Two rules:

* **A user's setting wins over a preference of the operator.** The operator sets what only works in one way, such as how replicas find
  each other. If the template has another value there, the user gets a warning with the path, and the value is not used.
* **Whatever admits the containers of the template admits the pod.** An added container adds no resources and no privileges.

## Environment variables

They are added to the containers that [kinds.md](kinds.md) names, after those of the template. A name occurs once in a container. An
operator's value that replaces the template's takes its place in the list, so that ` + "`$(NAME)`" + ` in later variables still works.
The operator does not see ` + "`envFrom`" + `, over which ` + "`env`" + ` wins: set a preference such as ` + "`PYTHONUNBUFFERED`" + ` in ` + "`env`" + `.

` + table([]string{"kind", "variables", "set in (empty: all replicas)", "counts if both set it", "field to use instead"}, rows) + `
## Everything else

` + table([]string{"what", "where", "counts if both set it"}, [][]string{
		{"labels `training.kubeflow.org/operator-name`, `job-name`, `replica-type`, `replica-index`, `job-role`", "pods, services", "the operator's, with a warning: services and clients select by them"},
		{"annotation `training.kubeflow.org/restart-count`", "a pod that replaces a failed one", "the operator's"},
		{"`restartPolicy` of the pod", "all pods", "the operator's, with a warning: that of the replica type"},
		{"port of the kind ([kinds.md](kinds.md))", "training container", "the user's: a port of this name, or of this number over TCP. With `hostNetwork` it is a port of the node, so that replicas go to different nodes"},
		{"`dnsPolicy: ClusterFirstWithHostNet`", "pods with `hostNetwork`", "the user's, with a warning if replicas cannot find each other with it; the operator's for an MPIJob of `v2beta1`"},
		{"init container `init-pytorch`", "`Worker` of a PyTorchJob with a `Master`", "the user's: a container of this name replaces it"},
		{"init container `kubectl-delivery`", "launcher of an MPIJob of `v1`", "the user's: a container of this name replaces it"},
		{"`resources` of these", "", "cpu, memory and ephemeral storage of the training container, so that quotas, LimitRanges and the QoS class see no difference"},
		{"`securityContext` of these", "", "that of the training container without privileges; no capabilities. If the pod must not run as root and the template names no user, the user is that of `--added-container-user`"},
		{"volumes `mpi-job-config`, `mpi-job-kubectl`, `ssh-auth` and their mounts", "pods of an MPIJob", "the user's: a volume of this name, a mount at this path"},
		{"command `sleep`, args `365d`", "`Worker` of an MPIJob of `v1` without a command", "the user's command; args without a command are replaced, with a warning"},
		{"command `/usr/sbin/sshd -De`", "`Worker` of an MPIJob of `v2beta1` without command and args", "the user's"},
		{"`hostname`, `subdomain`", "pods of an MPIJob of `v2beta1`", "the operator's, with a warning: the hostfile names them"},
		{"a search domain in `dnsConfig`", "`Worker` of an MPIJob of `v2beta1`", "both"},
		{"`serviceAccountName`", "launcher of an MPIJob of `v1`", "the user's"},
		{"`schedulerName`", "with `--gang-scheduler-name`", "the user's, with an event; the operator's for an MPIJob of `v2beta1`"},
		{"labels and annotations of the gang, `schedulingGroup`", "with a gang scheduler", "the operator's"},
	}) + `
Nothing else is added: no tolerations, node selectors, affinities, sidecars or finalizers.
`, nil
}

// joined adds a row of a variable. If it differs from the last row in the variable only, the two become one.
func joined(rows [][]string, row []string) [][]string {
	if len(rows) == 0 {
		return [][]string{row}
	}
	last := rows[len(rows)-1]
	if last[0] != row[0] || !slices.Equal(last[2:], row[2:]) {
		return append(rows, row)
	}
	last[1] += ", " + row[1]
	return rows
}
