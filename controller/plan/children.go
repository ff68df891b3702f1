package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// goOn: there is no verdict. Failed pods are replaced, strays deleted, extra objects brought up to date, and what is
// missing is created.
func goOn(d *draft) bool {
	d.tally()
	if !d.restart() && d.active() {
		d.drop(schema.Restarting)
		d.set(schema.Running, metav1.ConditionTrue, d.Head.Kind.Reason(schema.ReasonRunning), d.subject()+" is running.")
	}
	d.deleteStrays()
	extras := d.Job.ExtraObjects()
	d.keep(extras)
	if d.open(extras) {
		d.createMissing()
	}
	if deadline := d.Job.Policy.Deadline; deadline.Set {
		d.recheck(d.until(*d.status.StartTime, deadline))
	}
	return true
}

// stray is a child whose name has the form of a replica's, but not that of one the job asks for.
type stray struct {
	name    string
	index   int
	pod     *schema.Pod
	service *schema.Service
}

// deleteStrays deletes what scaling in has left, highest index first. A child of ours with another kind of
// name is somebody's work by hand and is left alone.
func (d *draft) deleteStrays() {
	var strays []stray
	for i := range d.Pods {
		if index, is := d.strayIndex(d.Pods[i].Name); is {
			strays = append(strays, stray{name: d.Pods[i].Name, index: index, pod: &d.Pods[i]})
		}
	}
	for i := range d.Services {
		if index, is := d.strayIndex(d.Services[i].Name); is {
			strays = append(strays, stray{name: d.Services[i].Name, index: index, service: &d.Services[i]})
		}
	}
	slices.SortStableFunc(strays, func(a, b stray) int {
		return cmp.Or(cmp.Compare(b.index, a.index), cmp.Compare(a.name, b.name))
	})
	for _, s := range strays {
		if s.pod != nil {
			d.deletePod(s.pod)
		} else {
			d.deleteService(s.service)
		}
	}
}

// strayIndex reads the name of a child of this job: J-<role>-<index>, the index as we write it.
func (d *draft) strayIndex(name string) (index int, is bool) {
	rest, ok := strings.CutPrefix(name, d.Head.Meta.Name+"-")
	if !ok {
		return 0, false
	}
	cut := strings.LastIndexByte(rest, '-')
	if cut < 0 {
		return 0, false
	}
	label, digits := rest[:cut], rest[cut+1:]
	index, err := strconv.Atoi(digits)
	if err != nil || index < 0 || strconv.Itoa(index) != digits {
		return 0, false
	}
	for _, known := range d.Head.Kind.Roles {
		if known.Label == label {
			role := d.Job.Role(known.Name)
			return index, role == nil || index >= role.Replicas
		}
	}
	return 0, false
}

// createMissing creates what is missing, in order of role and index, the service of a replica before its pod,
// so that the pod's name resolves when it starts. A child that is being deleted is not missing: its name is
// taken. A pod that is done stays and is not created again.
//
// Known limit: a pod that was done and then vanished is created again, as nothing on record says that it was
// done.
func (d *draft) createMissing() {
	shop := newWorkshop(d.Job)
	bytes := 0
	for i := range d.replicas {
		r := &d.replicas[i]
		if r.service == nil {
			if d.full(len(d.plan.Create), bytes) {
				return
			}
			d.plan.Create = append(d.plan.Create, shop.service(r))
		}
		if r.pod == nil {
			if d.full(len(d.plan.Create), bytes) {
				return
			}
			pod := shop.pod(r, d.ledger.Failed[r.inLedger()].Row)
			bytes += len(pod.Body)
			d.plan.Create = append(d.plan.Create, pod)
		}
	}
}
