package plan

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// workshop makes the children of one job. What all replicas share is made once: the environment when the
// first pod is asked for, and per role what template.go cuts out of the template.
type workshop struct {
	job         *schema.Job
	environment func(*schema.Role, int) []schema.EnvVar
	moulds      map[string]*mould // by role
	quoter      quoter
}

func newWorkshop(job *schema.Job) *workshop {
	return &workshop{job: job, moulds: make(map[string]*mould, len(job.Roles))}
}

// metadata of a child. What it holds raw is the author's and goes on as it was written.
type metadata struct {
	Name        string                     `json:"name"`
	Namespace   string                     `json:"namespace"`
	Labels      map[string]json.RawMessage `json:"labels"`
	Annotations json.RawMessage            `json:"annotations,omitempty"`
	Finalizers  json.RawMessage            `json:"finalizers,omitempty"`
	Owners      []metav1.OwnerReference    `json:"ownerReferences"`
}

// pod makes a replica's pod: the template with our labels over its own, and the environment behind its own.
// A name or namespace in the template means nothing. Row is how many pods of the replica failed in a row before it.
func (w *workshop) pod(r *replica, row int64) schema.Object {
	kind := w.job.Kind
	if w.environment == nil {
		w.environment = func(*schema.Role, int) []schema.EnvVar { return nil }
		if kind.Environment != nil {
			w.environment = kind.Environment(w.job)
		}
	}
	m := w.moulds[r.role.Name]
	if m == nil {
		var init []json.RawMessage
		if kind.Init != nil {
			init = kind.Init(w.job, r.role)
		}
		m = newMould(ganged(w.job, r.role), kind.Container, kind.EnvEverywhere, init)
		w.moulds[r.role.Name] = m
	}
	labels := maps.Clone(m.labels)
	maps.Copy(labels, raw(w.labels(r)))
	if lead := w.job.Lead; lead.Role == r.role.Name && (lead.Whole || r.index == 0) {
		labels[schema.LabelJobRole] = quote(schema.JobRoleMaster)
	}
	meta := w.metadata(r, labels)
	meta.Annotations, meta.Finalizers = m.annotations, m.finalizers
	if row > 0 {
		annotations := object(m.annotations)
		annotations[schema.AnnotationRestartCount] = quote(strconv.FormatInt(row, 10))
		meta.Annotations = schema.JSON(annotations)
	}

	var body bytes.Buffer
	body.WriteString(`{"apiVersion":"v1","kind":"Pod","metadata":`)
	body.Write(schema.JSON(meta))
	body.WriteString(`,"spec":`)
	m.pour(&body, w.environment(r.role, r.index), &w.quoter)
	body.WriteString(`}`)
	return schema.Object{Resource: schema.Pods(), Namespace: meta.Namespace, Name: meta.Name, Body: body.Bytes()}
}

type servicePort struct {
	Name string `json:"name,omitempty"`
	Port int32  `json:"port"`
}

// service makes a replica's service. It is headless: it only gives the pod a name. The target port is left
// out, which means the port.
func (w *workshop) service(r *replica) schema.Object {
	labels := w.labels(r)
	meta := w.metadata(r, raw(labels))
	body := schema.JSON(struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Metadata   metadata `json:"metadata"`
		Spec       any      `json:"spec"`
	}{"v1", "Service", meta, struct {
		ClusterIP string            `json:"clusterIP"`
		Selector  map[string]string `json:"selector"`
		Ports     []servicePort     `json:"ports,omitempty"`
	}{"None", labels, servicePorts(r.role.Ports, w.job.Kind.Port.Name)}})
	return schema.Object{Resource: schema.Services(), Namespace: meta.Namespace, Name: meta.Name, Body: body}
}

// servicePorts: a service takes less than a container does, and one that the server refuses keeps the whole
// job from running. A number may stand there once (the kind's own port is preferred, then the first), and of
// several ports each must have a name.
func servicePorts(ports []schema.Port, preferred string) []servicePort {
	var own int32
	for _, p := range ports {
		if p.Name == preferred {
			own = p.Number
		}
	}
	var out []servicePort
	for _, p := range ports {
		if p.Number == own && p.Name != preferred {
			continue
		}
		if p.Name == "" && len(ports) > 1 {
			p.Name = "port-" + strconv.Itoa(int(p.Number))
		}
		if !slices.ContainsFunc(out, func(o servicePort) bool { return o.Port == p.Number || o.Name == p.Name }) {
			out = append(out, servicePort{p.Name, p.Number})
		}
	}
	return out
}

// labels say which replica a child is. They are also what the service selects its pod by.
func (w *workshop) labels(r *replica) map[string]string {
	return map[string]string{
		schema.LabelOperator: w.job.Kind.Controller,
		schema.LabelJob:      w.job.Meta.Name,
		schema.LabelRole:     r.role.Label,
		schema.LabelIndex:    strconv.Itoa(r.index),
	}
}

func (w *workshop) metadata(r *replica, labels map[string]json.RawMessage) metadata {
	return owned(w.job, r.name, labels)
}

// owned is the metadata of an object that the job controls, and whose end its own waits for.
func owned(job *schema.Job, name string, labels map[string]json.RawMessage) metadata {
	yes := true
	return metadata{
		Name: name, Namespace: job.Meta.Namespace, Labels: labels,
		Owners: []metav1.OwnerReference{{
			APIVersion: job.Kind.APIVersion(), Kind: job.Kind.Name, Name: job.Meta.Name, UID: job.Meta.UID,
			Controller: &yes, BlockOwnerDeletion: &yes,
		}},
	}
}

func raw(labels map[string]string) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(labels))
	for k, v := range labels {
		out[k] = quote(v)
	}
	return out
}

// quote writes a string as JSON. Names and labels are plain, which is written without asking the library.
func quote(s string) json.RawMessage {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			return schema.JSON(s)
		}
	}
	text := make([]byte, 0, len(s)+2)
	return append(append(append(text, '"'), s...), '"')
}
