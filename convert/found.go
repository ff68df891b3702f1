package convert

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stoic/schema"
)

// mismatch reports a value of the wrong kind.
func (r *Reader) mismatch(want form, raw any) {
	if !r.problems.skip(r.at) {
		r.Problem(schema.TypeMismatch, r.found(raw), r.wanted(want), r.kindHint(want, raw))
	}
}

// NotAnObject reports a value that is not the required object.
func (r *Reader) NotAnObject(raw any) { r.mismatch(object, raw) }

// wanted returns the requirement for a value at the current path.
func (r *Reader) wanted(f form) string {
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
		switch {
		case r.at.leadsTo("cpu"):
			return `be a quantity such as "500m" or "2"`
		case r.at.leadsToDevices():
			return `be a whole number such as "1"`
		}
		return `be a quantity such as "64Gi" or "64G"`
	case intOrString:
		return "be an integer or a string"
	}
	return "be a string"
}

// kindHint says how to turn a value of the wrong kind into one of the right kind, where that is obvious.
func (r *Reader) kindHint(want form, raw any) string {
	v, isText := raw.(string)
	_, isNumber := numberOf(raw)
	_, isBool := raw.(bool)
	switch want {
	case text, binary, moment, duration:
		if (isNumber || isBool) && r.hides(raw) {
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
			return r.listHint(v)
		}
	}
	if isText && isPlaceholder(v) {
		return placeholderHint
	}
	return ""
}

// listHint says how to write a text as a list. A command line is one word for each item, and needs a shell if there is more to it.
func (r *Reader) listHint(text string) string {
	words := strings.Fields(text)
	isCommand := r.at.leadsTo("command")
	switch {
	case r.hides(text), len(text) > 60, len(words) == 0:
		return "put it into square brackets, each item in quotes"
	case len(words) == 1 || !isCommand && !r.at.leadsTo("args"):
		return "write [" + schema.Quote(text) + "]"
	case !strings.ContainsAny(text, "'\"\\|&;<>$`*?(){}[]#~"):
		for i, word := range words {
			words[i] = schema.Quote(word)
		}
		return "write [" + strings.Join(words, ", ") + "]"
	case isCommand:
		return `write ["sh", "-c", ` + schema.Quote(text) + "]"
	}
	return "put it into square brackets, each item in quotes"
}

const placeholderHint = "this looks like a placeholder; fill it in before"

// placeholder matches what envsubst, Helm and others replace in a manifest.
var placeholder = regexp.MustCompile(`^\$(\w+|\{[^}]*\}|\([^)]*\))$|\{\{.*\}\}`)

func isPlaceholder(text string) bool {
	return (strings.HasPrefix(text, "$") || strings.Contains(text, "{{")) && placeholder.MatchString(text)
}

// found describes a value with its type, and repeats it unless it may be a credential.
func (r *Reader) found(raw any) string {
	if !r.hides(raw) {
		return Found(raw)
	}
	return notShown(raw)
}

// notShown returns the type of a scalar that may be a credential.
func notShown(raw any) string {
	switch raw.(type) {
	case string:
		return "a string (not shown)"
	case bool:
		return "a boolean (not shown)"
	}
	return "a number (not shown)"
}

// quoted returns a text as messages quote it, unless it may be a credential.
func (r *Reader) quoted(text string) string {
	if r.at.hidden() {
		return r.found(text)
	}
	return schema.Quote(text)
}

// hides reports whether a scalar may be a credential. By its place it may: values of environment variables are hidden, whatever
// their names. A string also may if it names a credential, and a number or boolean if the argument before it does. Other arguments
// are shown, because many mistakes are in arguments.
func (r *Reader) hides(raw any) bool {
	switch v := raw.(type) {
	case nil, map[string]any, []any:
		return false
	case string:
		return r.at.hidden() || secretive(v)
	}
	return r.at.hidden() || secretive(r.at.argumentBefore())
}

// secretive reports whether a text names a credential. It looks only at the beginning, because no message repeats more of a text.
func secretive(text string) bool {
	return namesCredential(strings.ToUpper(text[:min(len(text), 1024)]))
}

// namesCredential is secretive for a text in upper case.
func namesCredential(text string) bool {
	return slices.ContainsFunc(credentials, func(name string) bool { return strings.Contains(text, name) })
}

var credentials = []string{"PASS", "PWD", "TOKEN", "KEY", "SECRET", "CREDENTIAL"}

// Found describes a value with its type.
func Found(raw any) string {
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

// plain returns a number or boolean as JSON.
func plain(raw any) string {
	if v, ok := raw.(bool); ok {
		return strconv.FormatBool(v)
	}
	n, _ := numberOf(raw)
	return n.String()
}
