package plan

import (
	"encoding/json"
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

// plainTemplate is the least that a role may have.
func plainTemplate(kind *schema.Kind) string {
	return `{"spec":{"containers":[{"name":"` + kind.Container + `","image":"mnist"}]}}`
}

// knobs describe a job in few words.
type knobs struct {
	Roles         map[string]roleKnobs `json:"roles"`
	SuccessPolicy string               `json:"successPolicy"`
	Dynamic       bool                 `json:"dynamic"`
	Elastic       *elasticKnobs        `json:"elastic"`
	Clean         string               `json:"clean"`
	TTL           *int64               `json:"ttl"`
	Deadline      *int64               `json:"deadline"`
	Backoff       *int64               `json:"backoff"`
	Suspend       bool                 `json:"suspend"`
	ManagedBy     string               `json:"managedBy"`
	Gang          string               `json:"gang"` // the scheduler that the operator was told of
	MinAvailable  *int64               `json:"minAvailable"`
	Queue         string               `json:"queue"`
	PriorityClass string               `json:"priorityClass"`
	GangTimeout   *int64               `json:"gangTimeout"`
	MinResources  map[string]string    `json:"minResources"`
}

type elasticKnobs struct {
	Min     *int32          `json:"min"`
	Max     *int32          `json:"max"`
	Metrics json.RawMessage `json:"metrics"`
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
	ledger   schema.Ledger
	problems []schema.Problem
	warnings []schema.Problem
	pods     map[string]*schema.Pod
	services map[string]*schema.Service
	extras   map[string]*schema.StoredExtra // by kind and name
	unseen   []schema.Unseen
	born     int // children so far, for UIDs
	// slow: deleted children stay, terminating, until told to go.
	slow  bool
	prune bool // the schema drops observedGeneration
	// gone: the job itself was deleted.
	gone bool
	// aging: pods know when they were created.
	aging bool
	// counted holds the failed pods that were ever put on record, and total what they add up to.
	counted map[types.UID]bool
	total   int64
}

func newWorld() *world {
	return &world{
		kind: schema.TFJob(), now: epoch,
		meta: metav1.ObjectMeta{Name: "j", Namespace: "ns", UID: "job-uid", Generation: 1},
		pods: map[string]*schema.Pod{}, services: map[string]*schema.Service{}, counted: map[types.UID]bool{},
		extras: map[string]*schema.StoredExtra{},
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
		Scheduling: schema.Scheduling{MinAvailable: limit(w.MinAvailable), Queue: w.Queue, PriorityClass: w.PriorityClass,
			TimeoutSeconds: limit(w.GangTimeout), MinResources: w.MinResources},
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
			role.Template = []byte(plainTemplate(w.kind))
		}
		job.Roles = append(job.Roles, role)
	}
	w.kind.Lower(job, w.options())
	if w.Elastic != nil {
		job.Verbatim = w.Elastic.Metrics
	}
	return job
}

// options are the kind's own fields, as the decoder would fill them.
func (w *world) options() any {
	switch options := w.kind.Options().(type) {
	case *schema.TFJobOptions:
		options.EnableDynamicWorker = w.Dynamic
		if w.SuccessPolicy != "" {
			options.SuccessPolicy = &w.SuccessPolicy
		}
		return options
	case *schema.PyTorchJobOptions:
		if e := w.Elastic; e != nil {
			options.ElasticPolicy = &schema.ElasticPolicySpec{MinReplicas: e.Min, MaxReplicas: e.Max}
		}
		return options
	}
	return nil
}

// become makes it a world of another kind, which knows of its cluster what the operator does by default.
func (w *world) become(kind *schema.Kind) {
	w.kind = kind.In(schema.Cluster{WaitFor: schema.WaitWith(schema.WaitImage, schema.WaitTries)})
}

// observe is what the controller sees.
func (w *world) observe() Observed {
	if cluster := w.kind.Cluster; cluster.Gang.Scheduler != w.Gang {
		cluster.Gang.Scheduler = w.Gang
		w.kind = w.kind.In(cluster)
	}
	head := &schema.Head{Kind: w.kind, Meta: *w.meta.DeepCopy(), Status: w.status, Ledger: w.ledger, Warnings: w.warnings, ManagedBy: w.ManagedBy}
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
	for _, key := range slices.Sorted(maps.Keys(w.extras)) {
		o.Extras = append(o.Extras, *w.extras[key])
	}
	o.Unseen = w.unseen
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
	for _, u := range p.Update {
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

// record keeps a ledger and holds it to account: a pod is counted once, and nothing else is.
func (w *world) record(ledger schema.Ledger) error {
	if len(ledger.Failed) > schema.MaxLedger || ledger.Job != w.meta.UID {
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
		w.total = schema.Count(w.total + restartsOf(w.pods[w.meta.Name+"-"+name]))
	}
	if ledger.Verdict != "" && ledger.Verdict != w.status.Verdict() {
		return fmt.Errorf("the ledger says %s, the status %s", ledger.Verdict, w.status.Verdict())
	}
	if ledger.Restarts != w.total {
		return fmt.Errorf("a total of %d, must be %d", ledger.Restarts, w.total)
	}
	w.ledger = ledger
	return nil
}

// tamper puts another ledger in place of that on record.
func (w *world) tamper(ledger schema.Ledger) {
	w.ledger, w.total = ledger, schema.Count(ledger.Restarts)
	clear(w.counted)
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
	case schema.PodGroups(), schema.PluginPodGroups(), schema.Autoscalers():
		e := w.extras[d.Resource.Kind+" "+d.Name]
		if e == nil || e.UID != d.UID || e.Deleting {
			return fmt.Errorf("delete %s %s %s, which is not there: %+v", d.Resource.Kind, d.Name, d.UID, e)
		}
		e.Deleting = true
		if !w.slow {
			delete(w.extras, d.Resource.Kind+" "+d.Name)
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
		p := &schema.Pod{Name: o.Name, UID: uid, Role: role, Phase: corev1.PodPending}
		if w.aging {
			p.Created = w.now
		}
		var body metav1.PartialObjectMetadata
		if err := json.Unmarshal(o.Body, &body); err != nil {
			return fmt.Errorf("create pod %s: %w", o.Name, err)
		}
		p.Row, _ = strconv.ParseInt(body.Annotations[schema.AnnotationRestartCount], 10, 64)
		w.pods[o.Name] = p
	case schema.Services():
		if w.services[o.Name] != nil {
			return fmt.Errorf("create service %s, which is there", o.Name)
		}
		w.services[o.Name] = &schema.Service{Name: o.Name, UID: uid}
	case schema.PodGroups(), schema.PluginPodGroups(), schema.Autoscalers():
		key := o.Resource.Kind + " " + o.Name
		if w.extras[key] != nil {
			return fmt.Errorf("create %s, which is there", key)
		}
		w.extras[key] = &schema.StoredExtra{Resource: o.Resource, Name: o.Name, UID: uid, ResourceVersion: "1", Created: w.now,
			Spec: object(o.Body)["spec"]}
	default:
		return fmt.Errorf("create of %v", o.Resource)
	}
	return nil
}

// merge is what an API server makes of a merge patch that touches members of the spec.
func (w *world) merge(u Update) error {
	e := w.extras[u.Resource.Kind+" "+u.Name]
	patch := object(u.Patch)
	meta := object(patch["metadata"])
	if e == nil || e.UID != u.UID || string(meta["uid"]) != strconv.Quote(string(e.UID)) ||
		u.ResourceVersion != e.ResourceVersion || string(meta["resourceVersion"]) != strconv.Quote(e.ResourceVersion) {
		return fmt.Errorf("update %+v of %+v", u, e)
	}
	w.born++
	e.Spec, e.ResourceVersion = merged(e.Spec, patch["spec"]), strconv.Itoa(100+w.born)
	return nil
}

// merged is RFC 7396.
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

// setPod reads "Failed exit=137 restarts=2 row=1 deleting role=ps", or "gone".
func (w *world) setPod(t *testing.T, name, words string) {
	t.Helper()
	p := &schema.Pod{Name: name, UID: "foreign-" + types.UID(name), Role: strings.Split(name+"--", "-")[1]}
	if old := w.pods[name]; old != nil {
		p.UID, p.Role, p.Created, p.Row = old.UID, old.Role, old.Created, old.Row
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
		case "row":
			p.Row = number
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
