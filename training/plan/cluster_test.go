package plan

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// epoch is the time at which every test starts.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// plainTemplate is the smallest legal pod template.
func plainTemplate(kind *training.Kind) string {
	return `{"spec":{"containers":[{"name":"` + kind.Container + `","image":"mnist"}]}}`
}

// knobs describe a job briefly.
type knobs struct {
	ReplicaTypes  map[string]replicaTypeKnobs `json:"replicaTypes"`
	SuccessPolicy string                      `json:"successPolicy"`
	Dynamic       bool                        `json:"dynamic"`
	Elastic       *elasticKnobs               `json:"elastic"`
	MPI           map[string]any              `json:"mpi"`
	Annotations   map[string]int64            `json:"annotations"`
	Clean         string                      `json:"clean"`
	TTL           *int64                      `json:"ttl"`
	Deadline      *int64                      `json:"deadline"`
	Backoff       *int64                      `json:"backoff"`
	Suspend       bool                        `json:"suspend"`
	ManagedBy     string                      `json:"managedBy"`
	Gang          string                      `json:"gang"`   // the operator's --gang-scheduler-name
	Native        string                      `json:"native"` // the version of native gang scheduling that is served; "none" of those that are wanted
	MinAvailable  *int64                      `json:"minAvailable"`
	Queue         string                      `json:"queue"`
	PriorityClass string                      `json:"priorityClass"`
	GangTimeout   *int64                      `json:"gangTimeout"`
	MinResources  map[string]string           `json:"minResources"`
}

type elasticKnobs struct {
	Min     *int32          `json:"min"`
	Max     *int32          `json:"max"`
	Metrics json.RawMessage `json:"metrics"`
}

type replicaTypeKnobs struct {
	Replicas *int            `json:"replicas"`
	Restart  string          `json:"restart"`
	Ports    []training.Port `json:"ports"`
	Template string          `json:"template"`
}

// cluster is a very small cluster: one object and its children. It executes plans.
type cluster struct {
	knobs
	kind       *training.Kind
	now        time.Time
	meta       metav1.ObjectMeta
	status     training.Status
	ledger     training.Ledger
	problems   []schema.Problem
	warnings   []schema.Problem
	pods       map[string]*training.Pod
	services   map[string]*training.Service
	dependents map[string]*training.StoredDependent // by kind and name
	bodies     map[string]json.RawMessage           // of these, whole
	unseen     []training.Unavailable
	// priorities of the cluster's classes, nil while they are not known
	priorities training.Priorities
	born       int // children so far, for UIDs
	// slow: deleted children stay, terminating, until settle removes them.
	slow  bool
	prune bool // the schema drops observedGeneration
	// gone: the job itself was deleted.
	gone bool
	// aging: pods know when they were created.
	aging bool
	// counted holds all failed pods that were ever recorded, and total their restarts.
	counted map[types.UID]bool
	total   int64
	// disruptions are those of these pods that were disrupted.
	disruptions int64
}

func newCluster() *cluster {
	return &cluster{
		kind: kinds.TFJob(), now: epoch,
		meta: metav1.ObjectMeta{Name: "j", Namespace: "ns", UID: "job-uid", ResourceVersion: "7", Generation: 1},
		pods: map[string]*training.Pod{}, services: map[string]*training.Service{}, counted: map[types.UID]bool{},
		dependents: map[string]*training.StoredDependent{}, bodies: map[string]json.RawMessage{},
	}
}

func limit(v *int64) training.Limit {
	if v == nil {
		return training.Limit{}
	}
	return training.Limit{Set: true, Value: *v}
}

// job returns the job that the converter would return for the knobs.
func (w *cluster) job(head *training.Head) *training.Job {
	job := &training.Job{Head: head, Annotations: w.Annotations, Policy: training.RunPolicy{
		CleanPods: training.CleanPodPolicy(w.Clean), TTL: limit(w.TTL), Deadline: limit(w.Deadline), Backoff: limit(w.Backoff),
		Suspend: w.Suspend,
		Scheduling: training.Scheduling{MinAvailable: limit(w.MinAvailable), Queue: w.Queue, PriorityClass: w.PriorityClass,
			TimeoutSeconds: limit(w.GangTimeout), MinResources: w.MinResources},
	}}
	for _, kind := range w.kind.ReplicaTypes {
		k, ok := w.ReplicaTypes[kind.Name]
		if !ok {
			continue
		}
		rtype := training.ReplicaType{KnownReplicaType: kind, Replicas: 1, Restart: training.RestartPolicy(k.Restart), Ports: k.Ports,
			Port: w.kind.Port.Number, Template: []byte(k.Template), Container: w.kind.Container}
		if k.Replicas != nil {
			rtype.Replicas = *k.Replicas
		}
		if k.Restart == "" {
			rtype.Restart = w.kind.Restart
		}
		if k.Ports == nil {
			rtype.Ports = []training.Port{w.kind.Port}
		}
		if k.Template == "" {
			rtype.Template = []byte(plainTemplate(w.kind))
		}
		job.ReplicaTypes = append(job.ReplicaTypes, rtype)
	}
	w.kind.Lower(job, w.options())
	if job.Policy.CleanPods == "" {
		job.Policy.CleanPods = training.CleanNone
	}
	if w.Elastic != nil {
		job.Verbatim = w.Elastic.Metrics
	}
	return job
}

// options returns the kind's own fields, as the decoder would fill them.
func (w *cluster) options() any {
	fields := map[string]any{"enableDynamicWorker": w.Dynamic}
	if w.MPI != nil {
		if err := json.Unmarshal(schema.JSON(w.MPI), &fields); err != nil {
			panic(err)
		}
	}
	if w.SuccessPolicy != "" {
		fields["successPolicy"] = w.SuccessPolicy
	}
	if e := w.Elastic; e != nil {
		fields["elasticPolicy"] = map[string]any{"minReplicas": e.Min, "maxReplicas": e.Max}
	}
	maps.Copy(fields, w.MPI)
	options := w.kind.Options()
	if err := json.Unmarshal(schema.JSON(fields), options); err != nil {
		panic(err) // those that a kind has not are left out
	}
	return options
}

// become changes the kind of the object. The kind has the default settings of the cluster.
func (w *cluster) become(kind *training.Kind) {
	w.kind = kind.In(training.Cluster{WaitFor: training.WaitWith(training.WaitImage, training.WaitTries)})
}

// observe returns what the controller observes.
func (w *cluster) observe() Observed {
	if cluster := w.kind.Cluster; cluster.Gang != w.gang() {
		cluster.Gang = w.gang()
		w.kind = w.kind.In(cluster)
	}
	head := &training.Head{Head: schema.Head{Meta: *w.meta.DeepCopy(), Warnings: w.warnings}, Kind: w.kind, Status: w.status, Ledger: w.ledger, ManagedBy: w.ManagedBy}
	for _, p := range w.warnings { // as the converter finds it
		if head.PodRestartPolicy == "" && strings.HasSuffix(p.Path, ".template.spec.restartPolicy") {
			head.PodRestartPolicy = p.Path
		}
	}
	o := Observed{Head: head, Now: w.now, KeepsGeneration: !w.prune}
	if len(w.problems) > 0 {
		o.Rejection = &training.Rejection{Head: head, Problems: w.problems}
	} else {
		o.Job = w.job(head)
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		o.Pods = append(o.Pods, *w.pods[name])
	}
	for _, name := range slices.Sorted(maps.Keys(w.services)) {
		if !w.isUnwatched(schema.Services()) {
			o.Services = append(o.Services, *w.services[name])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.dependents)) {
		switch e := *w.dependents[key]; {
		case e.Resource == schema.Jobs():
			o.BatchJobs = append(o.BatchJobs, w.batchJob(key, &e))
		case !w.isUnwatched(e.Resource):
			o.Dependents = append(o.Dependents, e)
		}
	}
	o.Unavailable, o.Priorities = slices.Concat(w.unseen, w.unserved()), w.priorities
	return o
}

// batchJob returns what the cache keeps of a batch/v1 Job.
func (w *cluster) batchJob(key string, e *training.StoredDependent) training.BatchJob {
	var body map[string]any
	if err := kjson.Unmarshal(w.bodies[key], &body); err != nil {
		panic(err) // remember stores JSON
	}
	return training.BatchJob{BatchState: training.BatchStateOf(body), Child: schema.Child{Namespace: w.meta.Namespace,
		Name: e.Name, UID: e.UID, ResourceVersion: e.ResourceVersion, Created: e.Created, Deleting: e.Deleting}}
}

func (w *cluster) isUnwatched(r schema.Resource) bool { return slices.Contains(w.kind.Unwatched, r) }

func (w *cluster) gang() training.Gang {
	return training.Gang{Scheduler: w.Gang, Native: w.Native != ""}
}

// unserved returns the versions of native gang scheduling that the cluster does not serve.
func (w *cluster) unserved() (all []training.Unavailable) {
	for _, v := range training.NativeVersions() {
		for _, r := range v.Kinds {
			if w.Native != "" && w.Native != v.Name {
				all = append(all, training.Unavailable{Resource: r, Why: "not served", Absent: true})
			}
		}
	}
	return all
}

// setPod parses "Failed exit=137:OOMKilled at=3 node=gpu-7 restarts=2 row=1 deleting replica-type=ps", or "gone". The ends of
// containers (exit, side, init) may have a reason, and at is when they ended, in seconds after the epoch.
func (w *cluster) setPod(t *testing.T, name, words string) {
	t.Helper()
	p := &training.Pod{Name: name, UID: "foreign-" + types.UID(name), ReplicaType: strings.Split(name+"--", "-")[1]}
	if old := w.pods[name]; old != nil {
		p.UID, p.ReplicaType, p.Created, p.ConsecutiveFailures = old.UID, old.ReplicaType, old.Created, old.ConsecutiveFailures
	}
	f := training.PodFailure{}
	for _, word := range strings.Fields(words) {
		key, value, _ := strings.Cut(word, "=")
		value, reason, _ := strings.Cut(value, ":")
		number, _ := strconv.ParseInt(value, 10, 64)
		end := training.ContainerEnd{Container: key, Code: int32(number), Reason: reason}
		switch key {
		case "gone":
			delete(w.pods, name)
			return
		case "deleting":
			p.Deleting = true
		case "exit":
			end.Container = w.kind.Container
			f.Ends = append(f.Ends, end)
			p.Exits = append(p.Exits, training.Exit{Container: w.kind.Container, Code: int32(number)})
		case "side":
			f.Ends = append(f.Ends, end)
			p.Exits = append(p.Exits, training.Exit{Container: "side", Code: int32(number)})
		case "init": // its exit code, or its name if it still runs
			if _, err := strconv.Atoi(value); err != nil {
				p.Wait = &training.PodWait{Node: "node-0", Init: value}
				continue
			}
			end.Init = true
			f.Ends = append(f.Ends, end)
		case "cause":
			f.Cause = training.Cause{Reason: value}
		case "node":
			f.Node = value
			if p.Phase != corev1.PodFailed {
				p.Wait = cmp.Or(p.Wait, &training.PodWait{})
				p.Wait.Node = value
			}
		case "at":
			for i := range f.Ends {
				f.Ends[i].At = epoch.Unix() + number
			}
		case "restarts":
			p.Restarts = number
		case "row":
			p.ConsecutiveFailures = number
		case "replica-type":
			p.ReplicaType = value
		case "created": // so many seconds after the epoch
			p.Created = epoch.Add(time.Duration(number) * time.Second)
		case "deleted": // the same, with the grace period
			p.Deleting, p.Wait = true, &training.PodWait{Ending: &training.Ending{At: epoch.Add(time.Duration(number) * time.Second)}}
		case "finalizers":
			p.Wait.Ending.Finalizers = strings.Split(value, ",")
		case "lost":
			p.Wait.NodeLost = true
		case "scheduler":
			p.Wait = &training.PodWait{Scheduler: value}
		case "ended": // its training container, so many seconds after the epoch; a proxy runs on
			p.Exits = append(p.Exits, training.Exit{Container: w.kind.Container})
			p.Wait = &training.PodWait{Ended: epoch.Add(time.Duration(number) * time.Second), RunsOn: "proxy"}
		case "evicted":
			f.Cause = training.Cause{Reason: "Evicted"}
			p.Disrupted = true
		case "disrupted":
			f.Disruption = value
			p.Disrupted = true
		case "problem": // the reason, and in brackets what is said of it, with _ for spaces
			reason, detail, _ := strings.Cut(strings.TrimSuffix(value, ")"), "(")
			p.Problem = &training.PodProblem{Reason: reason, Detail: strings.ReplaceAll(detail, "_", " ")}
		case "Pending", "Running", "Succeeded", "Failed", "Unknown":
			p.Phase = corev1.PodPhase(key)
		default:
			t.Fatalf("pod %s: what is %q?", name, word)
		}
	}
	if p.Phase == corev1.PodFailed || len(f.Ends) > 0 {
		p.Failure = &f
	}
	w.pods[name] = p
}
