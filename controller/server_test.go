package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apiServer is as much of an API server as the engine asks for: discovery of one kind, and list, watch, get, create,
// delete and status patches of any resource, with resourceVersions, UIDs and preconditions. Tests make it fail.
type apiServer struct {
	*httptest.Server
	mu      sync.Mutex
	changed *sync.Cond
	version int
	objects map[string]map[string]any // by path
	history []change
	seen    []string // requests, as "POST pods a"
	lists   []string // what was listed, and from when, as "pods 0"

	absent     bool                                        // the kind is not served
	serves     map[string]string                           // resources that are served beside it, by group and version
	noStatus   bool                                        // the kind has no status subresource
	refuse     func(verb, resource, name string) *refusing // nil: let it through
	prune      func(status map[string]any)                 // what the schema drops
	strip      bool                                        // a webhook takes annotations away
	keep       func(object map[string]any)                 // what it drops of a merged object
	held       map[string]bool                             // resources whose watches tell nothing
	cuts       int                                         // how often all watches were ended
	closing    chan struct{}
	afterwards func(verb, resource, name string) // called without the lock
}

type change struct {
	version        int
	resource, kind string
	object         []byte
}

type refusing struct {
	code    int
	reason  metav1.StatusReason
	message string
}

const jobsPath = "/apis/kubeflow.org/v1/namespaces/ns/tfjobs/"

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{objects: map[string]map[string]any{}, version: 100, held: map[string]bool{}, closing: make(chan struct{})}
	s.changed = sync.NewCond(&s.mu)
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.closing)
		s.mu.Lock()
		s.changed.Broadcast()
		s.mu.Unlock()
		s.CloseClientConnections()
		s.Server.Close()
	})
	return s
}

// locked runs f while nothing else goes on.
func (s *apiServer) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.changed.Broadcast()
}

// store puts an object under a path and tells the watchers. It fills in what a server fills in.
func (s *apiServer) store(path string, o map[string]any) map[string]any {
	s.version++
	meta := o["metadata"].(map[string]any)
	kind := "MODIFIED"
	if _, there := s.objects[path]; !there {
		kind = "ADDED"
		if meta["uid"] == nil {
			meta["uid"] = fmt.Sprint("uid-", s.version)
		}
		meta["generation"] = 1
		meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	meta["resourceVersion"] = strconv.Itoa(s.version)
	s.objects[path] = o
	s.note(path, kind, o)
	return o
}

func (s *apiServer) drop(path string) {
	o := s.objects[path]
	delete(s.objects, path)
	s.version++
	o["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(s.version)
	s.note(path, "DELETED", o)
}

func (s *apiServer) note(path, kind string, o map[string]any) {
	text, _ := json.Marshal(o)
	segments := strings.Split(path, "/")
	s.history = append(s.history, change{s.version, segments[len(segments)-2], kind, text})
	s.changed.Broadcast()
}

// count of requests that begin with a text.
func (s *apiServer) count(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.seen {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

// names of the stored objects of a resource.
func (s *apiServer) names(resource string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for path := range s.objects {
		if segments := strings.Split(path, "/"); segments[len(segments)-2] == resource {
			names = append(names, segments[len(segments)-1])
		}
	}
	slices.Sort(names)
	return names
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(segments) <= 3 && !strings.HasPrefix(r.URL.Path, "/api/v1/") {
		s.discover(w, strings.Join(segments[1:], "/"))
		return
	}
	resource, name, path, status := address(segments)
	verb, asked := r.Method, resource
	if status {
		asked += "/status"
	}
	if r.URL.Query().Get("watch") != "" {
		s.watch(w, r, resource)
		return
	}
	s.mu.Lock()
	s.seen = append(s.seen, strings.TrimSpace(verb+" "+asked+" "+name))
	if verb == http.MethodGet && name == "" {
		s.lists = append(s.lists, resource+" "+r.URL.Query().Get("resourceVersion"))
	}
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		if no := refuse(verb, asked, name); no != nil {
			answerStatus(w, no.code, no.reason, no.message)
			return
		}
	}
	code, answer := s.answer(verb, resource, name, path, status, body)
	if answer == nil {
		answerStatus(w, code, map[int]metav1.StatusReason{404: metav1.StatusReasonNotFound, 409: metav1.StatusReasonConflict, 200: ""}[code], "")
		return
	}
	if code == http.StatusConflict {
		answerStatus(w, code, metav1.StatusReasonAlreadyExists, "")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if s.afterwards != nil {
		s.afterwards(verb, asked, name)
	}
	_, _ = w.Write(answer)
}

// address takes a path apart; path is where the object is, or would be, stored.
func address(segments []string) (resource, name, path string, status bool) {
	if last := len(segments) - 1; segments[last] == "status" {
		status, segments = true, segments[:last]
	}
	i := slices.Index(segments, "namespaces")
	rest := segments[len(segments)-1:]
	if i >= 0 {
		rest = segments[i+2:]
	}
	resource = rest[0]
	if len(rest) > 1 {
		name = rest[1]
	}
	return resource, name, "/" + strings.Join(segments, "/"), status
}

func (s *apiServer) answer(verb, resource, name, path string, status bool, body []byte) (int, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := s.objects[path]
	switch {
	case resource == "tfjobs" && (s.absent || status && s.noStatus), s.unserved(path):
		return http.StatusNotFound, nil
	case verb == http.MethodPost:
		return s.create(path, body)
	case name == "":
		return http.StatusOK, s.list(resource, strings.Contains(path, "/namespaces/"), path)
	case object == nil:
		return http.StatusNotFound, nil
	case verb == http.MethodDelete:
		var o metav1.DeleteOptions
		_ = json.Unmarshal(body, &o)
		if o.Preconditions != nil && string(*o.Preconditions.UID) != object["metadata"].(map[string]any)["uid"] {
			return http.StatusConflict, nil
		}
		s.drop(path)
		return http.StatusOK, nil
	case verb == http.MethodPatch:
		if !status && resource != "tfjobs" {
			return s.merge(path, object, body)
		}
		return s.patch(path, object, body)
	case verb == http.MethodPut:
		var o map[string]any
		_ = json.Unmarshal(body, &o)
		text, _ := json.Marshal(s.store(path, o))
		return http.StatusOK, text
	}
	text, _ := json.Marshal(object)
	return http.StatusOK, text
}

func (s *apiServer) create(path string, body []byte) (int, []byte) {
	var o map[string]any
	_ = json.Unmarshal(body, &o)
	path += "/" + o["metadata"].(map[string]any)["name"].(string)
	if s.objects[path] != nil {
		return http.StatusConflict, []byte("taken")
	}
	text, _ := json.Marshal(s.store(path, o))
	return http.StatusCreated, text
}

func (s *apiServer) list(resource string, within bool, path string) []byte {
	items := []any{}
	for at, o := range s.objects {
		if segments := strings.Split(at, "/"); segments[len(segments)-2] == resource && (!within || strings.HasPrefix(at, path+"/")) {
			items = append(items, o)
		}
	}
	kinds := map[string][2]string{"tfjobs": {"kubeflow.org/v1", "TFJobList"}, "pods": {"v1", "PodList"}, "services": {"v1", "ServiceList"}, "podgroups": {"scheduling.volcano.sh/v1beta1", "PodGroupList"}, "horizontalpodautoscalers": {"autoscaling/v2", "HorizontalPodAutoscalerList"}}
	text, _ := json.Marshal(map[string]any{"apiVersion": kinds[resource][0], "kind": kinds[resource][1],
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items})
	return text
}

// unserved says whether a path leads to extra objects that are not served.
func (s *apiServer) unserved(path string) bool {
	segments := strings.Split(path, "/")
	return (strings.Contains(path, "/podgroups") || strings.Contains(path, "/horizontalpodautoscalers")) && s.serves[segments[2]+"/"+segments[3]] == ""
}

// merge understands merge patches that name a resourceVersion.
func (s *apiServer) merge(path string, object map[string]any, body []byte) (int, []byte) {
	var patch map[string]any
	_ = json.Unmarshal(body, &patch)
	if patch["metadata"].(map[string]any)["resourceVersion"] != object["metadata"].(map[string]any)["resourceVersion"] {
		return http.StatusConflict, nil
	}
	var changed map[string]any
	before, _ := json.Marshal(object)
	_ = json.Unmarshal(before, &changed)
	mergeInto(changed, patch)
	if s.keep != nil {
		s.keep(changed)
	}
	if after, _ := json.Marshal(changed); string(after) != string(before) {
		s.store(path, changed)
	}
	text, _ := json.Marshal(s.objects[path])
	return http.StatusOK, text
}

func mergeInto(object, patch map[string]any) {
	for key, value := range patch {
		inner, ok := value.(map[string]any)
		if !ok {
			object[key] = value
			continue
		}
		if _, there := object[key].(map[string]any); !there {
			object[key] = map[string]any{}
		}
		mergeInto(object[key].(map[string]any), inner)
	}
}

// patch understands what the engine sends.
func (s *apiServer) patch(path string, object map[string]any, body []byte) (int, []byte) {
	if bytes.HasPrefix(body, []byte("{")) {
		return s.annotate(path, object, body)
	}
	var steps []struct {
		Path  string
		Value any
	}
	_ = json.Unmarshal(body, &steps)
	changed := map[string]any{}
	for k, v := range object {
		changed[k] = v
	}
	for _, step := range steps {
		switch step.Path {
		case "/metadata/resourceVersion":
			if step.Value != object["metadata"].(map[string]any)["resourceVersion"] {
				return http.StatusConflict, nil
			}
		case "/status":
			if status, ok := step.Value.(map[string]any); ok && s.prune != nil {
				s.prune(status)
			}
			changed["status"] = step.Value
		}
	}
	before, _ := json.Marshal(object["status"])
	after, _ := json.Marshal(changed["status"])
	if string(before) != string(after) {
		s.store(path, changed)
	}
	text, _ := json.Marshal(s.objects[path])
	return http.StatusOK, text
}

// annotate understands a merge patch of annotations.
func (s *apiServer) annotate(path string, object map[string]any, body []byte) (int, []byte) {
	var patch struct {
		Metadata struct {
			ResourceVersion string
			Annotations     map[string]any
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	meta := object["metadata"].(map[string]any)
	if err := decoder.Decode(&patch); err != nil {
		return http.StatusBadRequest, nil
	}
	if patch.Metadata.ResourceVersion != meta["resourceVersion"] {
		return http.StatusConflict, nil
	}
	changed := maps.Clone(object)
	changed["metadata"] = maps.Clone(meta)
	annotations := map[string]any{}
	if old, ok := meta["annotations"].(map[string]any); ok {
		maps.Copy(annotations, old)
	}
	if !s.strip {
		maps.Copy(annotations, patch.Metadata.Annotations)
	}
	changed["metadata"].(map[string]any)["annotations"] = annotations
	text, _ := json.Marshal(s.store(path, changed))
	return http.StatusOK, text
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Query().Get("sendInitialEvents") != "" || s.absent && resource == "tfjobs" || s.unserved(r.URL.Path) {
		answerStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, "")
		return
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	next, _ := slices.BinarySearchFunc(s.history, from+1, func(c change, v int) int { return c.version - v })
	cuts := s.cuts
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	stop := context.AfterFunc(r.Context(), func() { s.mu.Lock(); s.changed.Broadcast(); s.mu.Unlock() })
	defer stop()
	for {
		for ; next < len(s.history) && !s.held[resource]; next++ {
			if c := s.history[next]; c.resource == resource && c.version > from { // as a real one, also after it was rewound
				fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", c.kind, c.object)
			}
		}
		w.(http.Flusher).Flush()
		select {
		case <-s.closing:
			return
		default:
		}
		if s.cuts != cuts || r.Context().Err() != nil || s.absent && resource == "tfjobs" || s.unserved(r.URL.Path) {
			return
		}
		s.changed.Wait()
	}
}

func (s *apiServer) discover(w http.ResponseWriter, group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if plural := s.serves[group]; plural != "" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: group,
			APIResources: []metav1.APIResource{{Name: plural, Namespaced: true}}})
		return
	}
	if s.absent || group != "kubeflow.org/v1" {
		answerStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, "")
		return
	}
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "kubeflow.org/v1",
		APIResources: []metav1.APIResource{{Name: "tfjobs", Kind: "TFJob", Namespaced: true}}}
	if !s.noStatus {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: "tfjobs/status", Kind: "TFJob", Namespaced: true})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

func answerStatus(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	outcome := metav1.StatusFailure
	if code < 300 {
		outcome = metav1.StatusSuccess
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: outcome,
		Code: int32(code), Reason: reason, Message: message})
}
