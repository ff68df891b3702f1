package apimodel

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

func (w *Model) deletion(q *request) (int, []byte, error) {
	options, err := q.deleteOptions()
	if err != nil {
		return 0, nil, err
	}
	was, err := q.find()
	if err != nil {
		return 0, nil, err
	}
	last, gone, err := w.remove(q.store, was, options)
	switch {
	case err != nil:
		return 0, nil, err
	case q.store.echoes || !gone:
		return http.StatusOK, q.render(last), nil
	}
	return http.StatusOK, statusBody(metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name: last.meta.Name, Group: q.store.Group, Kind: q.store.Plural, UID: last.meta.UID}}), nil
}

func (q *request) deleteOptions() (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	if len(q.body) > 0 {
		if err := json.Unmarshal(q.body, options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	} else if err := metav1.Convert_url_Values_To_v1_DeleteOptions(&q.query, options, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if errs := validation.ValidateDeleteOptions(options); len(errs) > 0 {
		return nil, apierrors.NewInvalid(runtimeschema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	return options, nil
}

// remove deletes an object, or begins to. It returns the last state, and whether the object no longer exists.
func (w *Model) remove(s *store, was *object, options *metav1.DeleteOptions) (last *object, gone bool, err error) {
	if err := s.checkPreconditions(was, options); err != nil {
		return nil, false, err
	}
	tree := unfold(was.tree)
	graceful, pending := w.beginGrace(s, was, tree, options)
	if pending {
		return was, s.custom, nil
	}
	finalizers := s.deletionFinalizers(was.meta, options)
	if !slices.Equal(finalizers, was.meta.Finalizers) {
		setFinalizers(tree, finalizers)
	}
	switch {
	case graceful:
		was = w.settle(s, was, tree)
		if len(finalizers) > 0 || *options.GracePeriodSeconds > 0 {
			return was, false, nil
		}
	case len(finalizers) > 0:
		w.mark(was, tree)
		return w.settle(s, was, tree), false, nil
	case len(was.meta.Finalizers) > 0 && options.Preconditions != nil && options.Preconditions.ResourceVersion != nil:
		// The server compares with an object that it never read, so no such deletion can succeed.
		return nil, false, apierrors.NewConflict(s.groupResource(), was.meta.Name, fmt.Errorf(
			"Precondition failed: ResourceVersion in precondition: , ResourceVersion in object meta: %s", was.meta.ResourceVersion))
	}
	return w.commit(s, was, nil), true, nil
}

// setFinalizers sets the finalizers of an unfolded tree.
func setFinalizers(tree map[string]any, finalizers []string) {
	list := make([]any, len(finalizers))
	for i, f := range finalizers {
		list[i] = f
	}
	if metaOf(tree)["finalizers"] = list; len(list) == 0 {
		delete(metaOf(tree), "finalizers")
	}
}

func (s *store) checkPreconditions(o *object, options *metav1.DeleteOptions) error {
	p := options.Preconditions
	resource := runtimeschema.GroupResource{Group: s.Group, Resource: s.Kind}
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != o.meta.UID:
		return apierrors.NewConflict(resource, o.meta.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, o.meta.UID))
	case p.ResourceVersion != nil && *p.ResourceVersion != o.meta.ResourceVersion:
		return apierrors.NewConflict(resource, o.meta.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, o.meta.ResourceVersion))
	}
	return nil
}

// beginGrace writes into the tree how long the object may still exist. pending means that its deletion is already in progress and
// this request changes nothing.
func (w *Model) beginGrace(s *store, was *object, tree map[string]any, options *metav1.DeleteOptions) (graceful, pending bool) {
	if options.GracePeriodSeconds != nil && *options.GracePeriodSeconds < 0 {
		options.GracePeriodSeconds = new(int64(1))
	}
	meta := metaOf(tree)
	switch {
	case !s.graceful:
		return false, false
	case was.meta.DeletionTimestamp == nil:
		options.GracePeriodSeconds = new(grace(was, options))
		meta["deletionTimestamp"] = stamp(w.now().Add(time.Duration(*options.GracePeriodSeconds) * time.Second))
		meta["deletionGracePeriodSeconds"] = *options.GracePeriodSeconds
		meta["generation"] = was.meta.Generation + 1
		return true, false
	}
	left := was.meta.DeletionGracePeriodSeconds
	switch {
	case left == nil || *left == 0:
		return false, false
	case options.GracePeriodSeconds == nil || *options.GracePeriodSeconds >= *left:
		return false, true
	}
	period := *options.GracePeriodSeconds
	end := was.meta.DeletionTimestamp.Add(time.Duration(period-*left) * time.Second)
	if now := w.now(); end.Before(now) {
		end, period = now, min(period, 1)
	}
	meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = stamp(end.UTC()), period
	return true, false
}

// grace returns the grace period of a pod.
func grace(o *object, options *metav1.DeleteOptions) int64 {
	node, _ := Get(o.tree, "spec", "nodeName").(string)
	phase, _ := Get(o.tree, "status", "phase").(string)
	if node == "" || phase == string(corev1.PodFailed) || phase == string(corev1.PodSucceeded) {
		return 0
	}
	if options.GracePeriodSeconds != nil {
		return *options.GracePeriodSeconds
	}
	seconds, _ := Get(o.tree, "spec", "terminationGracePeriodSeconds").(int64)
	if seconds < 0 {
		return 1
	}
	return seconds
}

// mark marks an object as being deleted without a grace period.
func (w *Model) mark(was *object, tree map[string]any) {
	meta, now := metaOf(tree), w.now()
	if was.meta.DeletionTimestamp == nil && was.meta.Generation > 0 {
		meta["generation"] = was.meta.Generation + 1
	}
	if was.meta.DeletionTimestamp == nil || was.meta.DeletionTimestamp.After(now) {
		meta["deletionTimestamp"] = stamp(now)
	}
	meta["deletionGracePeriodSeconds"] = int64(0)
}

// deletionFinalizers returns the finalizers that must be removed first; one of them may express the propagation policy.
func (s *store) deletionFinalizers(m *metav1.ObjectMeta, options *metav1.DeleteOptions) []string {
	if s.noGC {
		return m.Finalizers
	}
	policy := ""
	switch {
	case options.PropagationPolicy == nil:
		return m.Finalizers // an existing one stays
	case *options.PropagationPolicy == metav1.DeletePropagationOrphan:
		policy = metav1.FinalizerOrphanDependents
	case *options.PropagationPolicy == metav1.DeletePropagationForeground:
		policy = metav1.FinalizerDeleteDependents
	}
	if policy != "" && slices.Contains(m.Finalizers, policy) || policy == "" && !has(m, metav1.FinalizerOrphanDependents) && !has(m, metav1.FinalizerDeleteDependents) {
		return m.Finalizers
	}
	var left []string
	for _, f := range m.Finalizers {
		if f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
			left = append(left, f)
		}
	}
	if policy != "" {
		left = append(left, policy)
	}
	return left
}

func has(m *metav1.ObjectMeta, finalizer string) bool {
	return slices.Contains(m.Finalizers, finalizer)
}
