package simulation

import (
	"encoding/json"
	"slices"
	"strings"

	"stoic/test/faults/apimodel"
)

// mirror is what the judge knows of the model: the current objects, every version of the job, and what was ever true of a pod.
type mirror struct {
	manifest *manifest
	jobs     []jobVersion // in order; the last is the present one
	pods     map[string]*pod
	services map[string]*child
	// dependents are all other objects that a job may control, as resource/name.
	dependents map[string]*child
	events     []event
	// disowned are the children, by UID, that have lost their owner, and when.
	disowned map[string]disowned
	// selected is, by UID, the version at which a child got the label back that it had lost, and by which watches select.
	selected          map[string]int64
	succeeded, failed map[string]bool // names of pods, with the UID of their job
}

// jobVersion is the content of one version of the job, read without the operator's own packages.
type jobVersion struct {
	version  int64
	gone     bool
	uid      string
	deleting bool
	ledger   string
	suspend  bool
	clean    string
	replicas map[string]int // by label of the replica type
	broken   string         // the path of its error
	status   jobStatus
}

type jobStatus struct {
	Conditions []struct{ Type, Status, Reason, Message string }
	StartTime  string
	Completion string                                               `json:"completionTime"`
	Replicas   map[string]struct{ Active, Succeeded, Failed int32 } `json:"replicaStatuses"`
}

func (s *jobStatus) is(t string) bool {
	for _, c := range s.Conditions {
		if c.Type == t {
			return c.Status == "True"
		}
	}
	return false
}

// terminal returns Succeeded or Failed, whichever a reader of the status would take as the job's result.
func (s *jobStatus) terminal() string {
	for _, c := range s.Conditions {
		if (c.Type == "Succeeded" || c.Type == "Failed") && c.Status == "True" && c.Reason != "InvalidSpec" {
			return c.Type
		}
	}
	return ""
}

type child struct {
	Name, UID string
	Labels    map[string]string
	deleting  bool
	owner     string // UID of its controller
}

type pod struct {
	child
	phase    string
	code     int // exit code of the training container; -1 if there is none
	restarts int
}

func (p *pod) over() bool { return p.phase == "Succeeded" || p.phase == "Failed" }

type event struct{ Reason, FieldPath, Type, UID, Message string }

func newMirror(m *manifest) *mirror {
	return &mirror{manifest: m, pods: map[string]*pod{}, services: map[string]*child{}, dependents: map[string]*child{}, succeeded: map[string]bool{}, failed: map[string]bool{}, disowned: map[string]disowned{}, selected: map[string]int64{}}
}

// job returns the present one; it is gone if there is none.
func (m *mirror) job() *jobVersion {
	if len(m.jobs) == 0 {
		return &jobVersion{gone: true}
	}
	return &m.jobs[len(m.jobs)-1]
}

// absorb records one change.
func (m *mirror) absorb(c apimodel.Change, broken string) {
	deleted := c.Type == apimodel.Deleted
	switch c.Resource {
	case m.manifest.kind.Plural:
		m.jobs = append(m.jobs, m.readJob(c, broken))
	case "pods":
		p := readPod(c, m.manifest.container())
		if deleted {
			delete(m.pods, p.Name)
			break
		}
		if was := m.pods[p.Name]; was != nil {
			m.changed(&was.child, &p.child, c.Version)
		}
		m.pods[p.Name] = p
		if p.phase == "Succeeded" {
			m.succeeded[p.owner+"/"+p.Name] = true
		}
		if p.phase == "Failed" {
			m.failed[p.owner+"/"+p.Name] = true
		}
	case "services":
		s, was := readChild(c), m.services[c.Name]
		if was != nil {
			m.changed(was, &s, c.Version)
		}
		if m.services[c.Name] = &s; deleted {
			delete(m.services, c.Name)
		}
	case "configmaps", "serviceaccounts", "roles", "rolebindings":
		d := readChild(c)
		if m.dependents[c.Resource+"/"+c.Name] = &d; deleted {
			delete(m.dependents, c.Resource+"/"+c.Name)
		}
	case "events":
		text := func(path ...string) string { t, _ := apimodel.Get(c.Tree, path...).(string); return t }
		m.events = append(m.events, event{text("reason"), text("involvedObject", "fieldPath"), text("type"), text("involvedObject", "uid"), text("message")})
	}
}

type disowned struct {
	owner string
	at    int64
}

// changed records that a child has lost its owner, or got its label back.
func (m *mirror) changed(was, is *child, at int64) {
	if was.UID != is.UID {
		return
	}
	if was.owner != "" && is.owner == "" {
		m.disowned[is.UID] = disowned{was.owner, at}
	}
	if was.Labels[labelOperator] == "" && is.Labels[labelOperator] != "" {
		m.selected[is.UID] = at
	}
}

func readChild(c apimodel.Change) child {
	k := child{Name: c.Name, UID: c.UID, Labels: c.Labels, deleting: apimodel.Get(c.Tree, "metadata", "deletionTimestamp") != nil}
	owners, _ := apimodel.Get(c.Tree, "metadata", "ownerReferences").([]any)
	for _, o := range owners {
		owner, _ := o.(map[string]any)
		if controls, _ := owner["controller"].(bool); controls {
			k.owner, _ = owner["uid"].(string)
		}
	}
	return k
}

func (m *mirror) readJob(c apimodel.Change, broken string) jobVersion {
	v := jobVersion{version: c.Version, gone: c.Type == apimodel.Deleted, uid: c.UID, replicas: map[string]int{}, broken: broken,
		deleting: apimodel.Get(c.Tree, "metadata", "deletionTimestamp") != nil}
	v.ledger, _ = apimodel.Get(c.Tree, "metadata", "annotations", labelLedger).(string)
	v.suspend, _ = apimodel.Get(c.Tree, "spec", "runPolicy", "suspend").(bool)
	v.clean, _ = apimodel.Get(c.Tree, "spec", "runPolicy", "cleanPodPolicy").(string)
	rtypes, _ := apimodel.Get(c.Tree, "spec", m.manifest.replicaSpecsField()).(map[string]any)
	for name, r := range rtypes {
		v.replicas[strings.ToLower(name)] = number(apimodel.Get(r.(map[string]any), "replicas"))
	}
	if text, err := json.Marshal(c.Tree["status"]); err == nil {
		_ = json.Unmarshal(text, &v.status) // whatever can be read of it
	}
	return v
}

// number returns a number that was read from JSON; anything else is 0.
func number(value any) int {
	switch n := value.(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}

func readPod(c apimodel.Change, container string) *pod {
	p := &pod{child: readChild(c), code: -1}
	p.phase, _ = apimodel.Get(c.Tree, "status", "phase").(string)
	statuses, _ := apimodel.Get(c.Tree, "status", "containerStatuses").([]any)
	for _, one := range statuses {
		s, _ := one.(map[string]any)
		p.restarts += number(s["restartCount"])
		if code := apimodel.Get(s, "state", "terminated", "exitCode"); code != nil && s["name"] == container {
			p.code = number(code)
		}
	}
	return p
}

// podNames returns the names in order.
func (m *mirror) podNames() []string {
	names := make([]string, 0, len(m.pods))
	for name := range m.pods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// place splits the name of a child into replica type and index.
func (m *mirror) place(name string) (label string, index int, ok bool) {
	rest, ok := strings.CutPrefix(name, m.manifest.name+"-")
	if r := m.manifest.replicaType(rest); r != nil && r.unnumbered {
		return rest, 0, ok
	}
	cut := strings.LastIndexByte(rest, '-')
	if !ok || cut < 0 {
		return "", 0, false
	}
	index = int(rest[cut+1]) - '0' // never more than nine replicas
	return rest[:cut], index, index >= 0 && index < 10
}
