package apimodel

import (
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (w *Model) create(q *request) (int, []byte, error) {
	tree, err := q.object()
	if err != nil {
		return 0, nil, err
	}
	for _, field := range []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		delete(metaOf(tree), field) // only an API server sets them
	}
	o, err := w.add(q, tree)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, q.render(o), nil
}

// object reads the body of a request: an object of the resource, in the request's namespace.
func (q *request) object() (map[string]any, error) {
	if q.contentType != "" && !strings.HasPrefix(q.contentType, "application/json") {
		return nil, failure(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "the body of the request was in an unknown format")
	}
	tree, err := parse(q.body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	tree = unfold(tree)
	for _, must := range [][2]string{{"apiVersion", q.store.apiVersion()}, {"kind", q.store.Kind}} {
		got := tree[must[0]]
		if given := got != nil && got != ""; given && got != must[1] && !(q.store.custom && must[0] == "kind") || !given && q.store.custom {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the %s in the data (%v) does not match the expected (%s)", must[0], got, must[1]))
		} else if !given {
			tree[must[0]] = must[1]
		}
	}
	return tree, q.placed(tree)
}

// placed sets the request's namespace in an object, or fails if the object names another.
func (q *request) placed(tree map[string]any) error {
	meta := metaOf(tree)
	switch got, _ := meta["namespace"].(string); {
	case !q.store.Namespaced:
	case got == "":
		meta["namespace"] = q.namespace
	case got != q.namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// add creates an object.
func (w *Model) add(q *request, tree map[string]any) (*object, error) {
	s := q.store
	tree = w.admitted(s, tree)
	if w.closing[q.namespace] && s.Namespaced {
		return nil, w.terminating(q, tree)
	}
	m, err := readMeta(metaOf(tree))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if kind, _ := tree["kind"].(string); kind != s.Kind {
		return nil, apierrors.NewInvalid(runtimeschema.GroupKind{Group: s.Group, Kind: kind}, m.Name,
			field.ErrorList{field.Invalid(field.NewPath("kind"), kind, "must be "+s.Kind)})
	}
	if m.Name == "" && m.GenerateName != "" {
		m.Name = fmt.Sprintf("%s%05d", m.GenerateName, w.uids)
	}
	if s.generations {
		m.Generation = 1
	}
	s.prepare(tree)
	s.tidy(tree, m)
	if errs := s.validate(m); len(errs) > 0 {
		return nil, apierrors.NewInvalid(s.groupKind(), m.Name, errs)
	}
	if m.ResourceVersion != "" {
		return nil, fmt.Errorf("resourceVersion should not be set on objects to be created")
	}
	if was := s.objects[m.Namespace+"/"+m.Name]; was != nil {
		taken := apierrors.NewAlreadyExists(s.groupResource(), m.Name)
		if was.meta.DeletionTimestamp != nil {
			taken.ErrStatus.Message = "object is being deleted: " + taken.ErrStatus.Message
		}
		return nil, taken
	}
	meta := metaOf(tree)
	meta["uid"] = w.newUID()
	meta["creationTimestamp"] = stamp(w.now())
	return w.commit(s, nil, tree), nil
}

// validate returns the errors in metadata.
func (s *store) validate(m *metav1.ObjectMeta) field.ErrorList {
	errs := validation.ValidateObjectMeta(m, s.Namespaced, s.validName, field.NewPath("metadata"))
	for i, f := range m.Finalizers {
		if standard := f == "kubernetes" || f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents; !s.custom && !standard && !strings.Contains(f, "/") {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "finalizers").Index(i), f, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// prepare sets what a client cannot set.
func (s *store) prepare(tree map[string]any) {
	if s.Status {
		delete(tree, "status")
	}
	if s.graceful {
		tree["status"] = map[string]any{"phase": string(corev1.PodPending)}
	}
}

// terminating returns the error of admission for a namespace that is being deleted.
func (w *Model) terminating(q *request, tree map[string]any) error {
	name, _ := metaOf(tree)["name"].(string)
	err := apierrors.NewForbidden(q.store.groupResource(), name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", q.namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", q.namespace), Field: "metadata.namespace"})
	return err
}
