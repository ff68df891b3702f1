package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// epoch is when every story begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const plainTemplate = `{"spec":{"containers":[{"name":"tensorflow","image":"mnist"}]}}`

// knobs describe a job in few words.
type knobs struct {
	Roles         map[string]roleKnobs `json:"roles"`
	SuccessPolicy string               `json:"successPolicy"`
	Dynamic       bool                 `json:"dynamic"`
	Clean         string               `json:"clean"`
	TTL           *int64               `json:"ttl"`
	Deadline      *int64               `json:"deadline"`
	Backoff       *int64               `json:"backoff"`
	Suspend       bool                 `json:"suspend"`
	ManagedBy     string               `json:"managedBy"`
}

type roleKnobs struct {
	Replicas *int          `json:"replicas"`
	Restart  string        `json:"restart"`
	Ports    []schema.Port `json:"ports"`
	Template string        `json:"template"`
}

// world is a very small cluster: one object and its children. It carries plans out.
type world struct {
	knobs
	kind     *schema.Kind
	now      time.Time
	meta     metav1.ObjectMeta
	status   schema.Status
	problems []schema.Problem
	warnings []schema.Problem
	pods     map[string]*schema.Pod
	services map[string]*schema.Service
	born     int // children so far, for UIDs
	// slow: deleted children stay, terminating, until told to go.
	slow  bool
	prune bool // the schema drops observedGeneration
	// gone: the job itself was deleted.
	gone bool
}

func newWorld() *world {
	return &world{
		kind: schema.TFJob(), now: epoch,
		meta: metav1.ObjectMeta{Name: "j", Namespace: "ns", UID: "job-uid", Generation: 1},
		pods: map[string]*schema.Pod{}, services: map[string]*schema.Service{},
	}
}

func limit(v *int64) schema.Limit {
	if v == nil {
		return schema.Limit{}
	}
	return schema.Limit{Set: true, Value: *v}
}

// job is what the converter would make of the knobs.
func (w *world) job(head *schema.Head) *schema.Job {
	job := &schema.Job{Head: head, Policy: schema.RunPolicy{
		CleanPods: schema.CleanPodPolicy(w.Clean), TTL: limit(w.TTL), Deadline: limit(w.Deadline), Backoff: limit(w.Backoff),
		Suspend: w.Suspend,
	}}
	if job.Policy.CleanPods == "" {
		job.Policy.CleanPods = schema.CleanNone
	}
	for _, kind := range w.kind.Roles {
		k, ok := w.Roles[kind.Name]
		if !ok {
			continue
		}
		role := schema.Role{RoleKind: kind, Replicas: 1, Restart: schema.RestartPolicy(k.Restart), Ports: k.Ports,
			Port: w.kind.Port.Number, Template: []byte(k.Template)}
		if k.Replicas != nil {
			role.Replicas = *k.Replicas
		}
		if k.Restart == "" {
			role.Restart = w.kind.Restart
		}
		if k.Ports == nil {
			role.Ports = []schema.Port{w.kind.Port}
		}
		if k.Template == "" {
			role.Template = []byte(plainTemplate)
		}
		job.Roles = append(job.Roles, role)
	}
	options := &schema.TFJobOptions{EnableDynamicWorker: w.Dynamic}
	if w.SuccessPolicy != "" {
		options.SuccessPolicy = &w.SuccessPolicy
	}
	w.kind.Lower(job, options)
	return job
}

// observe is what the controller sees.
func (w *world) observe() Observed {
	head := &schema.Head{Kind: w.kind, Meta: *w.meta.DeepCopy(), Status: w.status, Warnings: w.warnings, ManagedBy: w.ManagedBy}
	o := Observed{Head: head, Now: w.now, KeepsGeneration: !w.prune}
	if len(w.problems) > 0 {
		o.Rejection = &schema.Rejection{Head: head, Problems: w.problems}
	} else {
		o.Job = w.job(head)
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		o.Pods = append(o.Pods, *w.pods[name])
	}
	for _, name := range slices.Sorted(maps.Keys(w.services)) {
		o.Services = append(o.Services, *w.services[name])
	}
	return o
}

// apply carries a plan out as the controller and the API server would.
func (w *world) apply(p Plan) error {
	if p.Status != nil {
		w.status = *p.Status
		if w.prune {
			w.status.ObservedGeneration = 0
		}
	}
	for _, d := range p.Delete {
		if err := w.remove(d); err != nil {
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

func (w *world) remove(d Deletion) error {
	if d.Namespace != w.meta.Namespace {
		return fmt.Errorf("delete %s in namespace %q", d.Name, d.Namespace)
	}
	switch d.Resource {
	case schema.Pods():
		p := w.pods[d.Name]
		if p == nil || p.UID != d.UID || p.Deleting {
			return fmt.Errorf("delete pod %s %s, which is not there: %+v", d.Name, d.UID, p)
		}
		p.Deleting = true
		if !w.slow {
			delete(w.pods, d.Name)
		}
	case schema.Services():
		s := w.services[d.Name]
		if s == nil || s.UID != d.UID || s.Deleting {
			return fmt.Errorf("delete service %s %s, which is not there: %+v", d.Name, d.UID, s)
		}
		s.Deleting = true
		if !w.slow {
			delete(w.services, d.Name)
		}
	case w.kind.Resource():
		if d.UID != w.meta.UID || d.Name != w.meta.Name {
			return fmt.Errorf("delete another job: %+v", d)
		}
		w.gone = true
	default:
		return fmt.Errorf("delete of %v", d.Resource)
	}
	return nil
}

func (w *world) create(o schema.Object) error {
	w.born++
	uid := types.UID(fmt.Sprintf("uid-%d", w.born))
	switch o.Resource {
	case schema.Pods():
		if w.pods[o.Name] != nil {
			return fmt.Errorf("create pod %s, which is there", o.Name)
		}
		role, _, _ := strings.Cut(strings.TrimPrefix(o.Name, w.meta.Name+"-"), "-")
		w.pods[o.Name] = &schema.Pod{Name: o.Name, UID: uid, Role: role, Phase: corev1.PodPending}
	case schema.Services():
		if w.services[o.Name] != nil {
			return fmt.Errorf("create service %s, which is there", o.Name)
		}
		w.services[o.Name] = &schema.Service{Name: o.Name, UID: uid}
	default:
		return fmt.Errorf("create of %v", o.Resource)
	}
	return nil
}

// setPod reads "Failed exit=137 restarts=2 deleting role=ps", or "gone".
func (w *world) setPod(t *testing.T, name, words string) {
	t.Helper()
	p := &schema.Pod{Name: name, UID: "foreign-" + types.UID(name), Role: strings.Split(name+"--", "-")[1]}
	if old := w.pods[name]; old != nil {
		p.UID, p.Role = old.UID, old.Role
	}
	for _, word := range strings.Fields(words) {
		key, value, _ := strings.Cut(word, "=")
		number, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "gone":
			delete(w.pods, name)
			return
		case "deleting":
			p.Deleting = true
		case "exit":
			p.Exits = append(p.Exits, schema.Exit{Container: w.kind.Container, Code: int32(number)})
		case "side":
			p.Exits = append(p.Exits, schema.Exit{Container: "side", Code: int32(number)})
		case "restarts":
			p.Restarts = number
		case "role":
			p.Role = value
		case "Pending", "Running", "Succeeded", "Failed", "Unknown":
			p.Phase = corev1.PodPhase(key)
		default:
			t.Fatalf("pod %s: what is %q?", name, word)
		}
	}
	w.pods[name] = p
}
