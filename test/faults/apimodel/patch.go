package apimodel

import (
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4" // the API server's own
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (w *Model) patch(q *request) (int, []byte, error) {
	media, _, _ := strings.Cut(q.contentType, ";")
	patchType := types.PatchType(media)
	if patchType != types.MergePatchType && patchType != types.JSONPatchType {
		return 0, nil, failure(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "the body of the request was in an unknown format")
	}
	was, err := q.find()
	if err != nil {
		return 0, nil, err
	}
	tree, err := patched(was.json, patchType, q.body)
	if err != nil {
		return 0, nil, err
	}
	if _, err := readMeta(metaOf(tree)); err != nil {
		return 0, nil, apierrors.NewInvalid(runtimeschema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), "", err.Error())})
	}
	if err := q.placed(tree); err != nil {
		return 0, nil, err
	}
	if err := q.named(tree); err != nil {
		return 0, nil, err
	}
	return w.update(q, was, tree)
}

// patched applies a patch, and returns an unfolded tree.
func patched(was []byte, patchType types.PatchType, body []byte) (map[string]any, error) {
	var next []byte
	if patchType == types.MergePatchType {
		if _, err := parse(body); err != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
		}
		merged, err := jsonpatch.MergePatch(was, body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		next = merged
	} else {
		operations, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if next, err = operations.Apply(was); err != nil {
			return nil, unprocessable()
		}
	}
	tree, err := parse(next)
	if err != nil || tree == nil {
		return nil, unprocessable()
	}
	return unfold(tree), nil
}

// unprocessable: the server does not say why a patch cannot be applied.
func unprocessable() error {
	return failure(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "the server rejected our request due to an error in our request")
}
