package apimodel

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (w *Model) put(q *request) (int, []byte, error) {
	tree, err := q.object()
	if err != nil {
		return 0, nil, err
	}
	if err := q.named(tree); err != nil {
		return 0, nil, err
	}
	m, err := readMeta(metaOf(tree))
	if err != nil {
		return 0, nil, apierrors.NewBadRequest(err.Error())
	}
	was, err := q.find()
	if err != nil {
		return 0, nil, err
	}
	if m.UID != "" && m.UID != was.meta.UID {
		return 0, nil, apierrors.NewConflict(q.store.groupResource(), q.name,
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", m.UID, was.meta.UID))
	}
	return w.update(q, was, tree)
}

// named fails unless the object has the name in the path.
func (q *request) named(tree map[string]any) error {
	if name, _ := metaOf(tree)["name"].(string); name != q.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, q.name))
	}
	return nil
}

// update makes tree, which is unfolded and not shared, the next state of an object. Nothing is committed if nothing changes.
func (w *Model) update(q *request, was *object, tree map[string]any) (int, []byte, error) {
	s := q.store
	tree = w.admitted(s, tree)
	if err := s.checkVersion(was, tree); err != nil {
		return 0, nil, err
	}
	s.keep(q.subresource, was, tree)
	m, err := readMeta(metaOf(tree))
	if err != nil {
		return 0, nil, apierrors.NewBadRequest(err.Error())
	}
	s.tidy(tree, m)
	if s.generations && q.subresource == "" && s.changed(was.tree, tree) {
		metaOf(tree)["generation"] = was.meta.Generation + 1
	}
	errs := s.checkMeta(m, was.meta)
	if s.graceful && !reflect.DeepEqual(was.tree["spec"], tree["spec"]) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "pod updates may not change fields"))
	}
	if len(errs) > 0 {
		return 0, nil, apierrors.NewInvalid(s.groupKind(), q.name, errs)
	}
	if m.DeletionTimestamp != nil && len(m.Finalizers) == 0 && (m.DeletionGracePeriodSeconds == nil || *m.DeletionGracePeriodSeconds == 0) {
		w.commit(s, was, nil)
		metaOf(tree)["resourceVersion"] = was.meta.ResourceVersion
		last, err := newObject(tree)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, q.render(last), nil
	}
	return http.StatusOK, q.render(w.settle(s, was, tree)), nil
}

// settle commits a state, unless it equals the current one.
func (w *Model) settle(s *store, was *object, tree map[string]any) *object {
	metaOf(tree)["resourceVersion"] = was.meta.ResourceVersion
	if reflect.DeepEqual(tree, was.tree) {
		return was
	}
	return w.commit(s, was, tree)
}

// checkVersion implements optimistic locking.
func (s *store) checkVersion(was *object, tree map[string]any) error {
	meta := metaOf(tree)
	text, ok := meta["resourceVersion"].(string)
	if !ok && meta["resourceVersion"] != nil {
		return apierrors.NewBadRequest("metadata.resourceVersion is no text")
	}
	version, err := uint64(0), error(nil)
	if text != "" {
		version, err = strconv.ParseUint(text, 10, 64)
	}
	switch {
	case err != nil:
		return fmt.Errorf("strconv.ParseUint: parsing %q: invalid syntax", text)
	case version == 0 && s.unconditional:
		return nil
	case version == 0: // it says the resource where others say the kind
		return apierrors.NewInvalid(runtimeschema.GroupKind{Group: s.Group, Kind: s.Plural}, was.meta.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	case strconv.FormatUint(version, 10) != was.meta.ResourceVersion:
		return apierrors.NewConflict(s.groupResource(), was.meta.Name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// keep copies from the last state what this write cannot change.
func (s *store) keep(subresource string, was *object, tree map[string]any) {
	old := metaOf(was.tree)
	switch {
	case subresource == "status" && s.custom:
		status, has := tree["status"]
		clear(tree)
		maps.Copy(tree, unfold(was.tree))
		delete(tree, "status")
		if has {
			tree["status"] = status
		}
		return
	case subresource == "status":
		restore(tree, was.tree, "spec")
		if s.graceful {
			restore(metaOf(tree), old, "ownerReferences")
			restore(metaOf(tree), old, "deletionTimestamp")
		}
	case s.Status:
		restore(tree, was.tree, "status")
	}
	meta := metaOf(tree)
	restore(meta, old, "generation")
	restore(meta, old, "creationTimestamp")
	if uid, _ := meta["uid"].(string); uid == "" {
		restore(meta, old, "uid")
	}
	if was.meta.DeletionTimestamp != nil {
		restore(meta, old, "deletionTimestamp")
	}
	if was.meta.DeletionGracePeriodSeconds != nil && meta["deletionGracePeriodSeconds"] == nil {
		restore(meta, old, "deletionGracePeriodSeconds")
	}
	delete(meta, "managedFields")
}

// restore restores the previous value of a field.
func restore(tree, was map[string]any, field string) {
	if value, has := was[field]; has {
		tree[field] = value
	} else {
		delete(tree, field)
	}
}

// changed reports whether a part that has a generation has changed.
func (s *store) changed(was, is map[string]any) bool {
	if !s.custom {
		return !reflect.DeepEqual(was["spec"], is["spec"])
	}
	was, is = maps.Clone(was), maps.Clone(is)
	delete(was, "metadata")
	delete(is, "metadata")
	return !reflect.DeepEqual(was, is)
}

// checkMeta returns the errors in changed metadata. Unchanged metadata was valid before.
func (s *store) checkMeta(m, was *metav1.ObjectMeta) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("metadata")
	if !maps.Equal(m.Labels, was.Labels) || !maps.Equal(m.Annotations, was.Annotations) ||
		!slices.Equal(m.Finalizers, was.Finalizers) || len(m.OwnerReferences) > 0 && !equalOwners(m.OwnerReferences, was.OwnerReferences) {
		errs = append(errs, s.validate(m)...)
	}
	if m.UID != was.UID || !m.DeletionTimestamp.Equal(was.DeletionTimestamp) || !equalSeconds(m.DeletionGracePeriodSeconds, was.DeletionGracePeriodSeconds) ||
		m.DeletionTimestamp != nil && !slices.Equal(m.Finalizers, was.Finalizers) {
		candidate := *m
		candidate.ResourceVersion = was.ResourceVersion
		errs = append(errs, validation.ValidateObjectMetaUpdate(&candidate, was, path)...)
	}
	return errs
}

func equalSeconds(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

func equalOwners(a, b []metav1.OwnerReference) bool {
	flag := func(f *bool) bool { return f != nil && *f }
	return slices.EqualFunc(a, b, func(a, b metav1.OwnerReference) bool {
		return a.UID == b.UID && a.Name == b.Name && a.Kind == b.Kind && a.APIVersion == b.APIVersion && flag(a.Controller) == flag(b.Controller)
	})
}
