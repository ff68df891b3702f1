package serve

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// MissingRight returns the right that a 403 says is missing: the verb, and the resource with its subresource. An API server that refuses
// a request for its content, as by a quota, an admission plugin or a webhook, answers 403, too: then no role could give what is missing.
// The answer is a Status, as JSON or protobuf or its message alone.
func MissingRight(answer string) (verb, resource string, missing bool) {
	answer = strings.ReplaceAll(answer, `\"`, `"`)
	switch {
	// The admission plugin OwnerReferencesPermissionEnforcement: the right to update the finalizers of an owner.
	case strings.Contains(answer, "cannot set blockOwnerDeletion"):
		return "update", "finalizers", true
	// No one can grant, or bind, rights that he does not have.
	case strings.Contains(answer, "is attempting to grant RBAC permissions not currently held"):
		return "grant", "roles", true
	}
	_, rest, _ := strings.Cut(answer, " cannot ")
	verb, rest, _ = strings.Cut(rest, ` resource "`)
	resource, _, missing = strings.Cut(rest, `"`)
	known := slices.Contains([]string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}, verb)
	if !missing || !known || len(resource) > longestResource || strings.Trim(resource, "abcdefghijklmnopqrstuvwxyz0123456789-/.") != "" {
		return "", "", false
	}
	return verb, resource, true
}

// longestResource bounds a label.
const longestResource = 127

// peeked is how much of an answer is searched; the message comes early.
const peeked = 4 << 10

// noteMissingRight counts the right that an answer of 403 lacks, and leaves the answer to be read from the beginning.
func (c counting) noteMissingRight(response *http.Response) {
	begin, _ := io.ReadAll(io.LimitReader(response.Body, peeked)) // a further read returns the error, too
	response.Body = readCloser{io.MultiReader(bytes.NewReader(begin), response.Body), response.Body}
	if verb, resource, missing := MissingRight(string(begin)); missing {
		c.metrics.missing.WithLabelValues(verb, resource).Inc()
	}
}

type readCloser struct {
	io.Reader
	io.Closer
}
