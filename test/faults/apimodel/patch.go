package apimodel

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (w *Model) patch(q *request) (int, []byte, error) {
	media, _, _ := strings.Cut(q.contentType, ";")
	patchType := types.PatchType(media)
	if patchType != types.MergePatchType && patchType != types.JSONPatchType {
		return 0, nil, unsupported("the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json")
	}
	was, err := q.find()
	if err != nil {
		return 0, nil, err
	}
	var next any
	if patchType == types.MergePatchType {
		patch, err := parse(q.body)
		if err != nil {
			return 0, nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
		}
		next = merge(was.tree, patch)
	} else if next, err = patched(was.tree, q.body); err != nil {
		return 0, nil, err
	}
	tree, ok := next.(map[string]any)
	if !ok {
		return 0, nil, unprocessable()
	}
	tree = unfold(tree)
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

// unprocessable: the server does not say why a patch cannot be applied.
func unprocessable() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity,
		Reason: metav1.StatusReasonInvalid, Message: "the server rejected our request due to an error in our request", Details: &metav1.StatusDetails{}}}
}

// merge applies RFC 7386 as the server does: it removes nulls in lists, too. The result shares what the patch does not change.
func merge(was any, patch any) any {
	old, isMap := was.(map[string]any)
	changes, ok := patch.(map[string]any)
	switch {
	case !isMap:
		next, _ := withoutNulls(patch)
		return next
	case !ok:
		return patch
	}
	next := make(map[string]any, len(old)+len(changes))
	maps.Copy(next, old)
	for k, v := range changes {
		if v == nil {
			delete(next, k)
		} else {
			next[k] = merge(next[k], v)
		}
	}
	return next
}

// operation is an operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// patched applies RFC 6902. The result shares what the patch does not change.
func patched(tree any, body []byte) (any, error) {
	var list []any
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	for _, item := range list {
		o, ok := item.(map[string]any)
		if !ok {
			return nil, apierrors.NewBadRequest("error decoding patch: an operation is an object")
		}
		op := operation{Value: o["value"]}
		op.Op, _ = o["op"].(string)
		op.Path, _ = o["path"].(string)
		op.From, _ = o["from"].(string)
		var err error
		if tree, err = op.apply(tree); err != nil {
			return nil, unprocessable()
		}
	}
	return tree, nil
}

func (op operation) apply(tree any) (any, error) {
	path := pointer(op.Path)
	switch op.Op {
	case "add", "replace", "remove":
		return change(tree, path, op.Op, op.Value)
	case "test":
		value, found := look(tree, path)
		if !equal(value, op.Value) || !found && op.Value != nil {
			return nil, fmt.Errorf("testing path %s failed", op.Path)
		}
		return tree, nil
	case "move", "copy":
		from := pointer(op.From)
		value, found := look(tree, from)
		if !found && op.Op == "copy" && len(from) > 0 { // a missing field is copied as null
			parent, _ := look(tree, from[:len(from)-1])
			_, found = parent.(map[string]any)
		}
		if !found {
			return nil, fmt.Errorf("%s: %s is not there", op.Op, op.From)
		}
		if op.Op == "move" {
			var err error
			if tree, err = change(tree, from, "remove", nil); err != nil {
				return nil, err
			}
		}
		return change(tree, path, "add", value)
	}
	return nil, fmt.Errorf("unexpected kind of operation: %q", op.Op)
}

// pointer splits a JSON pointer (RFC 6901).
func pointer(path string) []string {
	if path == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts
}

func look(tree any, path []string) (any, bool) {
	for _, field := range path {
		switch node := tree.(type) {
		case map[string]any:
			value, found := node[field]
			if !found {
				return nil, false
			}
			tree = value
		case []any:
			i, err := strconv.Atoi(field)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			tree = node[i]
		default:
			return nil, false
		}
	}
	return tree, true
}

// change copies the nodes on the path to the change.
func change(tree any, path []string, op string, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	field := path[0]
	switch node := tree.(type) {
	case map[string]any:
		old, found := node[field]
		node = maps.Clone(node)
		switch {
		case !found && (len(path) > 1 || op != "add"):
			return nil, fmt.Errorf("%s: %s is not there", op, field)
		case len(path) > 1:
			next, err := change(old, path[1:], op, value)
			node[field] = next
			return node, err
		case op == "remove":
			delete(node, field)
		default:
			node[field] = value
		}
		return node, nil
	case []any:
		return changeList(node, path, op, value)
	}
	return nil, fmt.Errorf("%s: %s has no fields", op, field)
}

func changeList(node []any, path []string, op string, value any) (any, error) {
	i, err := strconv.Atoi(path[0])
	last := len(path) == 1
	if path[0] == "-" && last && op == "add" {
		return append(slices.Clone(node), value), nil
	}
	if err != nil || i < 0 || i > len(node) || i == len(node) && !(last && op == "add") {
		return nil, fmt.Errorf("%s: no item %s", op, path[0])
	}
	node = slices.Clone(node)
	switch {
	case !last:
		node[i], err = change(node[i], path[1:], op, value)
		return node, err
	case op == "remove":
		return slices.Delete(node, i, i+1), nil
	case op == "add":
		return slices.Insert(node, i, value), nil
	}
	node[i] = value
	return node, nil
}
