package plan

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
	"stoic/training"
)

// apply executes a plan like the controller and the API server.
func (w *cluster) apply(p Plan) error {
	if p.Status != nil {
		w.status = *p.Status
		if w.prune {
			w.status.ObservedGeneration = 0
		}
	}
	if p.Ledger != nil {
		if err := w.record(*p.Ledger); err != nil {
			return err
		}
	}
	for _, d := range p.Delete {
		if err := w.remove(d); err != nil {
			return err
		}
	}
	for _, u := range p.Patch {
		if err := w.merge(u); err != nil {
			return err
		}
	}
	for _, o := range p.Create {
		if err := w.create(o); err != nil {
			return err
		}
	}
	return nil
}

// record stores a ledger and checks it: each failed pod is counted once, and nothing else is.
func (w *cluster) record(ledger training.Ledger) error {
	if len(ledger.Failed) > training.MaxLedger || ledger.Job != w.meta.UID {
		return fmt.Errorf("a ledger of %s with %d failures", ledger.Job, len(ledger.Failed))
	}
	for name, failure := range ledger.Failed {
		if w.ledger.Failed[name] == failure {
			continue
		}
		if w.counted[failure.Pod] {
			return fmt.Errorf("pod %s of %s is counted twice", failure.Pod, name)
		}
		w.counted[failure.Pod] = true
		pod := w.pods[w.meta.Name+"-"+name]
		w.total = training.Count(w.total + restartsOf(pod))
		if pod.Disrupted {
			w.disruptions = training.Count(w.disruptions + 1)
		}
	}
	if ledger.Terminal != "" && ledger.Terminal != w.status.Terminal() {
		return fmt.Errorf("the ledger says %s, the status %s", ledger.Terminal, w.status.Terminal())
	}
	if ledger.Disruptions != w.disruptions {
		return fmt.Errorf("%d disruptions, must be %d", ledger.Disruptions, w.disruptions)
	}
	if ledger.Restarts != w.total {
		return fmt.Errorf("a total of %d, must be %d", ledger.Restarts, w.total)
	}
	w.ledger = ledger
	return nil
}

// tamper replaces the stored ledger.
func (w *cluster) tamper(ledger training.Ledger) {
	w.ledger, w.total = ledger, training.Count(ledger.Restarts)
	w.disruptions = training.Count(ledger.Disruptions)
	clear(w.counted)
}

func (w *cluster) remove(d Deletion) error {
	if d.Namespace != w.meta.Namespace {
		return fmt.Errorf("delete %s in namespace %q", d.Name, d.Namespace)
	}
	switch {
	case d.Resource == schema.Pods():
		p := w.pods[d.Name]
		if p == nil || p.UID != d.UID || p.Deleting {
			return fmt.Errorf("delete pod %s %s, which is not there: %+v", d.Name, d.UID, p)
		}
		p.Deleting = true
		if !w.slow {
			delete(w.pods, d.Name)
		}
	case d.Resource == schema.Services():
		s := w.services[d.Name]
		if s == nil || s.UID != d.UID || s.Deleting {
			return fmt.Errorf("delete service %s %s, which is not there: %+v", d.Name, d.UID, s)
		}
		s.Deleting = true
		if !w.slow {
			delete(w.services, d.Name)
		}
	case d.Resource == w.kind.Resource():
		if d.UID != w.meta.UID || d.Name != w.meta.Name {
			return fmt.Errorf("delete another job: %+v", d)
		}
		w.gone = true
	default:
		e := w.dependents[d.Resource.Kind+" "+d.Name]
		if e == nil || e.UID != d.UID || e.Deleting {
			return fmt.Errorf("delete %s %s %s, which is not there: %+v", d.Resource.Kind, d.Name, d.UID, e)
		}
		e.Deleting = true
		if !w.slow {
			delete(w.dependents, d.Resource.Kind+" "+d.Name)
		}
	}
	return nil
}

func (w *cluster) create(o schema.Object) error {
	w.born++
	uid := types.UID(fmt.Sprintf("uid-%d", w.born))
	switch {
	case w.isUnwatched(o.Resource) && (w.services[o.Name] != nil || w.dependents[o.Resource.Kind+" "+o.Name] != nil):
		return nil // the engine takes what exists as created
	case o.Resource == schema.Pods():
		if w.pods[o.Name] != nil {
			return fmt.Errorf("create pod %s, which is there", o.Name)
		}
		rtype, _, _ := strings.Cut(strings.TrimPrefix(o.Name, w.meta.Name+"-"), "-")
		p := &training.Pod{Name: o.Name, UID: uid, ReplicaType: rtype, Phase: corev1.PodPending}
		if w.aging {
			p.Created, p.Wait = w.now, &training.PodWait{Node: "node-0"}
		}
		var body metav1.PartialObjectMetadata
		if err := json.Unmarshal(o.Body, &body); err != nil {
			return fmt.Errorf("create pod %s: %w", o.Name, err)
		}
		p.ConsecutiveFailures, _ = strconv.ParseInt(body.Annotations[training.AnnotationRestartCount], 10, 64)
		w.pods[o.Name] = p
	case o.Resource == schema.Services():
		if w.services[o.Name] != nil {
			return fmt.Errorf("create service %s, which is there", o.Name)
		}
		w.services[o.Name] = &training.Service{Name: o.Name, UID: uid}
	default:
		key := o.Resource.Kind + " " + o.Name
		if w.dependents[key] != nil {
			return fmt.Errorf("create %s, which is there", key)
		}
		w.dependents[key] = &training.StoredDependent{Resource: o.Resource, Name: o.Name, UID: uid, ResourceVersion: "1", Created: w.now}
		w.remember(key, o.Body)
	}
	return nil
}

// remember stores what the cache keeps of an object.
func (w *cluster) remember(key string, body json.RawMessage) {
	e, content := w.dependents[key], map[string]any{}
	_ = json.Unmarshal(body, &content)
	state := training.FormOf(e.Resource).StateOf(content)
	w.bodies[key], e.Spec, e.Content = body, nil, state.Content
	if state.Spec != nil {
		e.Spec = object(body)["spec"]
	}
}

// merge applies a merge patch like an API server.
func (w *cluster) merge(u Patch) error {
	e := w.dependents[u.Resource.Kind+" "+u.Name]
	patch := object(u.Body)
	meta := object(patch["metadata"])
	if e == nil || e.UID != u.UID || string(meta["uid"]) != strconv.Quote(string(e.UID)) ||
		u.ResourceVersion != e.ResourceVersion || string(meta["resourceVersion"]) != strconv.Quote(e.ResourceVersion) {
		return fmt.Errorf("update %+v of %+v", u, e)
	}
	key := u.Resource.Kind + " " + u.Name
	for _, member := range training.FormOf(u.Resource).Fixed {
		if patch[member] != nil {
			return fmt.Errorf("update of %s of %s, which never changes", member, key)
		}
	}
	w.born++
	body := object(w.bodies[key])
	if e.Spec != nil {
		body["spec"] = e.Spec // tampered with
	}
	e.ResourceVersion = strconv.Itoa(100 + w.born)
	w.remember(key, merged(schema.JSON(body), u.Body))
	return nil
}

// merged implements RFC 7396.
func merged(stored, patch json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(patch, &members) != nil || members == nil {
		return patch
	}
	result := object(stored)
	for key, value := range members {
		if present(value) == nil {
			delete(result, key)
		} else {
			result[key] = merged(result[key], value)
		}
	}
	return schema.JSON(result)
}
