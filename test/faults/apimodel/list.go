package apimodel

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (w *Model) get(q *request) (int, []byte, error) {
	o, err := q.find()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, q.render(o), nil
}

// selection is the part of a resource that a request selects.
type selection struct {
	store     *store
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func (w *Model) selection(q *request) (selection, error) {
	s := selection{store: q.store, namespace: q.namespace, fields: fields.Everything()}
	var err error
	if s.labels, err = w.labelSelector(q.query.Get("labelSelector")); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	if text := q.query.Get("fieldSelector"); text != "" {
		if s.fields, err = fields.ParseSelector(text); err != nil {
			return s, apierrors.NewBadRequest(err.Error())
		}
		for _, r := range s.fields.Requirements() {
			if _, known := s.field(&object{meta: &metav1.ObjectMeta{}}, r.Field); !known {
				return s, apierrors.NewBadRequest("field label not supported: " + r.Field)
			}
		}
	}
	return s, nil
}

func (w *Model) labelSelector(text string) (labels.Selector, error) {
	if known := w.selectors[text]; known != nil {
		return known, nil
	}
	s, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the label selector: %w", err)
	}
	w.selectors[text] = s
	return s, nil
}

// field returns a field of an object that selectors can use.
func (s *selection) field(o *object, path string) (value string, known bool) {
	switch path {
	case "metadata.name":
		return o.meta.Name, true
	case "metadata.namespace":
		return o.meta.Namespace, s.store.Namespaced
	}
	switch s.store.Plural + " " + path {
	case "pods status.phase", "pods spec.nodeName", "events involvedObject.name", "events involvedObject.kind",
		"events involvedObject.uid", "events involvedObject.namespace", "events reason", "events type":
		value, _ = Get(o.tree, strings.Split(path, ".")...).(string)
		return value, true
	}
	return "", false
}

func (s *selection) matches(o *object) bool {
	if o == nil || s.namespace != "" && o.meta.Namespace != s.namespace || !s.labels.Matches(labels.Set(o.meta.Labels)) {
		return false
	}
	for _, r := range s.fields.Requirements() {
		if value, _ := s.field(o, r.Field); (value == r.Value) != (r.Operator == "=" || r.Operator == "==") {
			return false
		}
	}
	return true
}

// page is where a list begins and how long it is.
type page struct {
	Version int64  `json:"rv"`
	After   string `json:"start"`
	limit   int
}

func (w *Model) list(q *request) (int, []byte, error) {
	if strings.Contains(q.accept, "as=PartialObjectMetadata;") {
		return 0, nil, unacceptable(q.store.Kind)
	}
	s, err := w.selection(q)
	if err != nil {
		return 0, nil, err
	}
	p, err := w.page(q)
	if err != nil {
		return 0, nil, err
	}
	then := w.at(q.store, p.Version)
	var found []*object
	more := ""
	for _, key := range slices.Sorted(maps.Keys(then)) {
		if key <= p.After || !s.matches(then[key]) {
			continue
		}
		if p.limit > 0 && len(found) == p.limit {
			last := found[len(found)-1].meta
			more = page{Version: p.Version, After: last.Namespace + "/" + last.Name}.token()
			break
		}
		found = append(found, then[key])
	}
	return http.StatusOK, q.renderList(found, p.Version, more), nil
}

// page returns the page that a request selects.
func (w *Model) page(q *request) (page, error) {
	limit, _ := strconv.Atoi(q.query.Get("limit"))
	asked, match, token := q.query.Get("resourceVersion"), q.query.Get("resourceVersionMatch"), q.query.Get("continue")
	if token != "" {
		return w.nextPage(token, limit)
	}
	if match != "" && asked == "" || match == "Exact" && asked == "0" {
		return page{}, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", field.ErrorList{
			field.Forbidden(field.NewPath("resourceVersionMatch"), "resourceVersionMatch is forbidden unless resourceVersion is provided")})
	}
	switch asked {
	case "":
		return page{Version: w.version, limit: limit}, nil
	case "0":
		return page{Version: w.cached(0), limit: limit}, nil
	}
	version, err := strconv.ParseInt(asked, 10, 64)
	switch {
	case err != nil:
		return page{}, apierrors.NewBadRequest("Invalid value: " + asked)
	case version > w.version:
		return page{}, tooLarge(version, w.version)
	case match != "Exact" && (limit == 0 || match == "NotOlderThan"):
		version = w.cached(version)
	case version < w.compacted:
		return page{}, expired()
	}
	return page{Version: version, limit: limit}, nil
}

func (w *Model) nextPage(token string, limit int) (page, error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	p := page{}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, apierrors.NewBadRequest("continue key is not valid: " + err.Error())
	}
	if p.Version < w.compacted {
		return p, expired()
	}
	p.limit = limit
	return p, nil
}

func (p page) token() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("write a continue token: %v", err))
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func unacceptable(kind string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotAcceptable,
		Reason: metav1.StatusReasonNotAcceptable, Message: "you requested PartialObjectMetadata, but the requested object is a list (" + kind + "List)"}}
}

func expired() error {
	return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
}

func tooLarge(asked, current int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, current), int(time.Second/time.Second))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

func (q *request) renderList(found []*object, version int64, more string) []byte {
	out := append(make([]byte, 0, 1024), `{"kind":"`...)
	if q.metadataOnly() {
		out = append(out, `PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1`...)
	} else {
		out = append(append(append(out, q.store.Kind...), `List","apiVersion":"`...), q.store.apiVersion()...)
	}
	out = append(strconv.AppendInt(append(out, `","metadata":{"resourceVersion":"`...), version, 10), '"')
	if more != "" {
		out = append(append(append(out, `,"continue":"`...), more...), '"')
	}
	out = append(out, `},"items":[`...)
	for i, o := range found {
		if i > 0 {
			out = append(out, ',')
		}
		if q.metadataOnly() {
			out = appendPartial(out, o)
		} else {
			out = append(out, o.json...)
		}
	}
	return append(out, `]}`...)
}
