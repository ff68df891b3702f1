package apimodel

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
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

func (q *request) selection() (selection, error) {
	s := selection{store: q.store, namespace: q.namespace}
	var err error
	if s.labels, err = labels.Parse(q.query.Get("labelSelector")); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	if s.fields, err = fields.ParseSelector(q.query.Get("fieldSelector")); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	for _, r := range s.fields.Requirements() {
		if _, known := s.fieldsOf(&object{meta: &metav1.ObjectMeta{}})[r.Field]; !known {
			return s, apierrors.NewBadRequest("field label not supported: " + r.Field)
		}
	}
	return s, nil
}

// fieldsOf returns the fields of an object that selectors can use.
func (s *selection) fieldsOf(o *object) fields.Set {
	set := fields.Set{"metadata.name": o.meta.Name}
	if s.store.Namespaced {
		set["metadata.namespace"] = o.meta.Namespace
	}
	var paths []string
	switch s.store.Plural {
	case "pods":
		paths = []string{"status.phase", "spec.nodeName"}
	case "events":
		paths = []string{"involvedObject.name", "involvedObject.kind", "involvedObject.uid", "involvedObject.namespace", "reason", "type"}
	}
	for _, path := range paths {
		set[path], _ = Get(o.tree, strings.Split(path, ".")...).(string)
	}
	return set
}

func (s *selection) matches(o *object) bool {
	return o != nil && (s.namespace == "" || o.meta.Namespace == s.namespace) && s.labels.Matches(labels.Set(o.meta.Labels)) &&
		(s.fields.Empty() || s.fields.Matches(s.fieldsOf(o)))
}

// page is where a list begins and how long it is.
type page struct {
	Version int64  `json:"rv"`
	After   string `json:"start"`
	limit   int
}

func (w *Model) list(q *request) (int, []byte, error) {
	if strings.Contains(q.accept, "as=PartialObjectMetadata;") {
		return 0, nil, failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"you requested PartialObjectMetadata, but the requested object is a list ("+q.store.Kind+"List)")
	}
	s, err := q.selection()
	if err != nil {
		return 0, nil, err
	}
	p, err := w.page(q)
	if err != nil {
		return 0, nil, err
	}
	then := w.at(q.store, p.Version)
	items := []json.RawMessage{}
	last := ""
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatInt(p.Version, 10)}
	for _, key := range slices.Sorted(maps.Keys(then)) {
		if key <= p.After || !s.matches(then[key]) {
			continue
		}
		if p.limit > 0 && len(items) == p.limit {
			meta.Continue = base64.RawURLEncoding.EncodeToString(encode(page{Version: p.Version, After: last}))
			break
		}
		items = append(items, q.render(then[key]))
		last = key
	}
	kind, apiVersion := q.store.Kind, q.store.apiVersion()
	if q.metadataOnly() {
		kind, apiVersion = "PartialObjectMetadata", "meta.k8s.io/v1"
	}
	return http.StatusOK, encode(map[string]any{"kind": kind + "List", "apiVersion": apiVersion, "items": items, "metadata": meta}), nil
}

// page returns the page that a request selects. A list that accepts older data is answered with the newest.
func (w *Model) page(q *request) (page, error) {
	p := page{Version: w.version}
	p.limit, _ = strconv.Atoi(q.query.Get("limit"))
	asked, match, token := q.query.Get("resourceVersion"), q.query.Get("resourceVersionMatch"), q.query.Get("continue")
	switch {
	case token != "":
		text, err := base64.RawURLEncoding.DecodeString(token)
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			return p, apierrors.NewBadRequest("continue key is not valid: " + err.Error())
		}
	case match != "" && asked == "" || match == "Exact" && asked == "0":
		return p, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", field.ErrorList{
			field.Forbidden(field.NewPath("resourceVersionMatch"), "resourceVersionMatch is forbidden unless resourceVersion is provided")})
	case asked != "" && asked != "0":
		version, err := strconv.ParseInt(asked, 10, 64)
		if err != nil {
			return p, apierrors.NewBadRequest("Invalid value: " + asked)
		}
		if version > w.version {
			late := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", version, w.version), 1)
			late.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
			return p, late
		}
		if match == "Exact" || p.limit > 0 && match == "" {
			p.Version = version
		}
	}
	if p.Version < w.compacted {
		return p, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	return p, nil
}

// failure returns an error for which the library has no constructor.
func failure(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{}}}
}
