package oracle

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
)

// Jobs returns the rules for training jobs.
func Jobs() Rules {
	return Rules{
		Status: history.JobStatus,
		Owner:  history.Owner,
		Always: []func(*Case) []string{onePod, final, pods},
	}
}

// Disturbed returns the rules for training jobs whose pods others delete, as often as they like.
func Disturbed() Rules {
	rules := Jobs()
	rules.Always = []func(*Case) []string{onePod, final}
	return rules
}

// onePod: at any time at most one pod that has not ended, terminating or not, for each replica of a job.
func onePod(c *Case) (found []string) {
	live := map[string]map[types.UID]string{} // by replica, then by pod: its name
	replica := map[types.UID]string{}         // as its first version says: labels may be edited
	for _, v := range c.Versions {
		if v.Resource.Resource != "pods" {
			continue
		}
		uid := v.Object.GetUID()
		if _, known := replica[uid]; !known {
			replica[uid] = c.replicaOf(v)
		}
		of := replica[uid]
		if of == "" {
			continue
		}
		phase := history.Phase(v.Object)
		if v.Type == watch.Deleted || phase == "Succeeded" || phase == "Failed" {
			delete(live[of], uid)
			continue
		}
		if live[of] == nil {
			live[of] = map[types.UID]string{}
		}
		_, was := live[of][uid]
		live[of][uid] = v.Object.GetName()
		if !was && len(live[of]) > 1 {
			found = append(found, fmt.Sprintf("%d pods that have not ended for one replica (%s) at resourceVersion %s", len(live[of]), of, v.Object.GetResourceVersion()))
		}
	}
	return found
}

// replicaOf returns the replica of a pod: the job that controls it, its replica type and its index; "" if no job controls it. A
// launcher has no index.
func (c *Case) replicaOf(pod history.Version) string {
	labels, owner := pod.Object.GetLabels(), c.Controller(pod.Object)
	rtype := cmp.Or(labels["training.kubeflow.org/replica-type"], labels["training.kubeflow.org/job-role"])
	if owner == "" || rtype == "" {
		return ""
	}
	return fmt.Sprintf("job %s, %s %s", owner, rtype, labels["training.kubeflow.org/replica-index"])
}

// final: a terminal condition stays forever, and so does its time.
func final(c *Case) (found []string) {
	if c.Limits.Edited {
		return nil
	}
	for uid, versions := range c.Objects {
		was := ""
		for _, v := range versions {
			is := terminal(v.Object)
			if was != "" && is != was {
				found = append(found, fmt.Sprintf("job %s had the terminal condition %s, and at resourceVersion %s %s", uid, was, v.Object.GetResourceVersion(), is))
			}
			if is != "" {
				was = is
			}
		}
	}
	return found
}

// kindOf returns the type of a terminal condition: Succeeded or Failed.
func kindOf(terminal string) string {
	kind, _, _ := strings.Cut(terminal, " ")
	return kind
}

// terminal returns the terminal condition of a job; "" if it has none. A Failed condition with reason InvalidSpec is none: it is
// removed when the spec is repaired.
func terminal(job *unstructured.Unstructured) string {
	for _, c := range history.Conditions(job) {
		if c.Status == "True" && (c.Type == "Succeeded" || c.Type == "Failed" && c.Reason != "InvalidSpec") {
			at, _, _ := unstructured.NestedString(job.Object, "status", "completionTime")
			return c.Type + " at " + at
		}
	}
	return ""
}

// pods: a job never gets more pods than it has replicas, as many again after each suspension, and one for each pod that failed.
func pods(c *Case) (found []string) {
	made, failed := map[types.UID]map[types.UID]bool{}, map[types.UID]map[types.UID]bool{}
	for _, v := range c.Versions {
		if v.Resource.Resource != "pods" {
			continue
		}
		owner := c.Controller(v.Object)
		note(made, owner, v.Object.GetUID())
		if history.Phase(v.Object) == "Failed" && v.Object.GetDeletionTimestamp() == nil {
			note(failed, owner, v.Object.GetUID())
		}
	}
	for uid, versions := range c.Objects {
		limit := replicas(versions)*(1+resumptions(versions)) + len(failed[uid])
		if n := len(made[uid]); n > limit {
			found = append(found, fmt.Sprintf("%d pods were made for job %s, at most %d (%d failed)", n, uid, limit, len(failed[uid])))
		}
	}
	return found
}

func note(in map[types.UID]map[types.UID]bool, owner, uid types.UID) {
	if in[owner] == nil {
		in[owner] = map[types.UID]bool{}
	}
	in[owner][uid] = true
}

// replicas returns the most replicas that a job ever had in its spec: the sum of the maximum of each replica type.
func replicas(versions []history.Version) (sum int) {
	most := map[string]int64{}
	for _, v := range versions {
		spec, _ := v.Object.Object["spec"].(map[string]any)
		for field, value := range spec {
			rtypes, ok := value.(map[string]any)
			if !ok || !strings.HasSuffix(field, "ReplicaSpecs") {
				continue
			}
			for rtype := range rtypes {
				n, ok, err := unstructured.NestedInt64(rtypes, rtype, "replicas")
				if !ok || err != nil {
					n = 1
				}
				most[rtype] = max(most[rtype], n)
			}
		}
	}
	for _, n := range most {
		sum += int(n)
	}
	return sum
}

// resumptions counts how often a job was resumed after a suspension.
func resumptions(versions []history.Version) (n int) {
	was := false
	for _, v := range versions {
		is := isSuspended(v.Object)
		if was && !is {
			n++
		}
		was = is
	}
	return n
}

func isSuspended(job *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(job.Object, "spec", "runPolicy", "suspend")
	return suspended
}
