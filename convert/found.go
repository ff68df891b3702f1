package convert

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"stoic/schema"
)

// secretive says whether a text names something whose value is not repeated in messages. Only the beginning is looked
// at: no message repeats more of a text than that.
func secretive(text string) bool {
	text = strings.ToUpper(text[:min(len(text), 1024)])
	return slices.ContainsFunc(secrets, func(name string) bool { return strings.Contains(text, name) })
}

var secrets = []string{"PASSWORD", "TOKEN", "KEY", "SECRET", "CREDENTIAL"}

// mismatch reports a value of the wrong kind.
func (r *reader) mismatch(want form, raw any) {
	if !r.problems.skip(r.at) {
		r.problem(schema.TypeMismatch, r.found(raw), r.wanted(want), r.kindHint(want, raw))
	}
}

// wanted is what a value must be in the place where the walk is.
func (r *reader) wanted(f form) string {
	switch f {
	case object, dict:
		return "be an object"
	case list:
		return "be a list"
	case boolean:
		return "be true or false"
	case integer:
		return "be an integer"
	case float:
		return "be a number"
	case quantity:
		if r.at.leadsTo("cpu") {
			return `be a quantity such as "500m" or "2"`
		}
		return `be a quantity such as "64Gi" or "64G"`
	case intOrString:
		return "be an integer or a string"
	}
	return "be a string"
}

// kindHint says how a value of the wrong kind becomes one of the right kind, where that is plain.
func (r *reader) kindHint(want form, raw any) string {
	v, isText := raw.(string)
	_, isNumber := numberOf(raw)
	_, isBool := raw.(bool)
	switch want {
	case text, binary, moment, duration:
		if (isNumber || isBool) && r.at.secret(raw) {
			return "quote it"
		}
		if isNumber || isBool {
			return "quote it: " + schema.Quote(plain(raw))
		}
	case integer, float:
		if n, err := strconv.ParseFloat(v, 64); isText && err == nil && fractional(n).integral() {
			return "remove the quotes"
		}
	case boolean:
		if !isText {
			return ""
		}
		switch strings.ToLower(v) {
		case "true", "false":
			return "remove the quotes"
		case "yes", "y", "on", "1":
			return "write true"
		case "no", "n", "off", "0":
			return "write false"
		}
	case list:
		if isText {
			return "put it into square brackets"
		}
	}
	return ""
}

// found names a value with its type, unless it may be a secret.
func (r *reader) found(raw any) string {
	if r.at.secret(raw) {
		switch raw.(type) {
		case string:
			return "a string (not shown)"
		case bool:
			return "a boolean (not shown)"
		}
		return "a number (not shown)"
	}
	return found(raw)
}

// quoted is a text as it is repeated in a message, unless it may be a secret.
func (r *reader) quoted(text string) string {
	if r.at.secret(text) {
		return r.found(text)
	}
	return schema.Quote(text)
}

// found names a value with its type.
func found(raw any) string {
	switch v := raw.(type) {
	case nil:
		return "null"
	case string:
		return "string " + schema.Quote(v)
	case bool:
		return "boolean " + plain(v)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case number:
		return "number " + v.String()
	case json.Number:
		return "number " + schema.Clean(string(v), 60)
	}
	if n, ok := numberOf(raw); ok {
		return "number " + n.String()
	}
	return "something that is not JSON"
}

// plain is a number or boolean as JSON writes it.
func plain(raw any) string {
	if v, ok := raw.(bool); ok {
		return strconv.FormatBool(v)
	}
	n, _ := numberOf(raw)
	return n.String()
}

// secret says whether a scalar may be one: what a variable or header with a telling name, or a variable whose name
// cannot be read, is set to; or a string that names one, at a place where variables and arguments stand.
func (p path) secret(raw any) bool {
	switch raw.(type) {
	case nil, map[string]any, []any:
		return false
	}
	variable := p.has("env")
	if v, ok := raw.(string); ok && (variable || p.has("args") || p.has("command")) && secretive(v) {
		return true
	}
	for _, s := range p {
		if s.at || s.within == nil || s.key != "value" && s.key != "valueFrom" {
			continue
		}
		name, readable := s.within["name"].(string)
		if secretive(name) || variable && !readable {
			return true
		}
	}
	return false
}
