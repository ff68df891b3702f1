package convert

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"stoic/schema"
)

// How Kubernetes lets names be spelled. Its library has the last word. The library uses a regular expression for each, which costs
// more than the rest of a conversion. So common forms of names are recognized first, and names that are far too long are not passed
// to it.
//
//	                length  characters                          first, last
//	dnsLabel        63      a-z 0-9 -                           a-z 0-9
//	serviceName     63      a-z 0-9 -                           a-z; a-z 0-9
//	dnsSubdomain    253     labels, with dots between
//	portName        15      a-z 0-9 -, one a-z, no -- in it     a-z 0-9
//	labelValue      63      a-z A-Z 0-9 - _ .                   a-z A-Z 0-9; may be empty
//	qualifiedName           a labelValue, not empty, or a dnsSubdomain, a slash and such a value

func dnsLabel(s string) bool {
	return spelled(s, 63, lower|digit, lower|digit|dash) || legal(s, validation.IsDNS1123Label)
}

// ServiceName reports whether a service, and an object for which one is created, can have this name.
func ServiceName(s string) bool {
	return spelled(s, 63, lower|digit, lower|digit|dash) && classOf(s[0]) == lower || legal(s, validation.IsDNS1035Label)
}

// ObjectName reports whether most objects, such as pods and ConfigMaps, can have this name.
func ObjectName(s string) bool { return dnsSubdomain(s) }

func dnsSubdomain(s string) bool {
	return len(s) <= 253 && dnsLabels(s) || legal(s, validation.IsDNS1123Subdomain)
}

func portName(s string) bool {
	common := spelled(s, 15, lower|digit, lower|digit|dash) && classOf(s[0]) == lower && !strings.Contains(s, "--")
	return common || legal(s, validation.IsValidPortName)
}

func labelValue(s string) bool {
	return s == "" || commonName(s) || legal(s, validation.IsValidLabelValue)
}

func qualifiedName(s string) bool {
	domain, name, found := strings.Cut(s, "/")
	common := !found && commonName(s) || found && len(domain) <= 253 && dnsLabels(domain) && commonName(name)
	return common || legal(s, validation.IsQualifiedName)
}

// legal asks the library whether a name has no faults.
func legal(s string, faults func(string) []string) bool {
	const longest = 253 + len("/") + 63 // that any name may be
	return len(s) <= longest && len(faults(s)) == 0
}

// commonName matches the common form of a label's value, and of the last part of its key.
func commonName(s string) bool {
	return spelled(s, 63, lower|upper|digit, lower|upper|digit|dash|underscore|dot)
}

// dnsLabels reports whether s is one or more DNS labels with dots between them.
func dnsLabels(s string) bool {
	for {
		first, rest, more := strings.Cut(s, ".")
		if !spelled(first, 63, lower|digit, lower|digit|dash) {
			return false
		}
		if !more {
			return true
		}
		s = rest
	}
}

// class is a set of characters.
type class uint8

const (
	lower class = 1 << iota
	upper
	digit
	dash
	underscore
	dot
)

func classOf(c byte) class {
	switch {
	case c >= 'a' && c <= 'z':
		return lower
	case c >= '0' && c <= '9':
		return digit
	case c >= 'A' && c <= 'Z':
		return upper
	case c == '-':
		return dash
	case c == '_':
		return underscore
	case c == '.':
		return dot
	}
	return 0
}

// spelled reports whether s has one to most characters, the first and the last among ends, all among any.
func spelled(s string, most int, ends, any class) bool {
	if s == "" || len(s) > most || classOf(s[0])&ends == 0 || classOf(s[len(s)-1])&ends == 0 {
		return false
	}
	for i := range len(s) {
		if classOf(s[i])&any == 0 {
			return false
		}
	}
	return true
}

// spelling is the form that the text of a field must have.
type spelling struct {
	code    schema.Code
	want    string
	legal   func(string) bool
	suggest func(string) string // makes a hint; may be nil
}

var (
	labelForm      = spelling{schema.InvalidName, wantLabel, dnsLabel, SuggestName}
	subdomainForm  = spelling{schema.InvalidName, wantSubdomain, dnsSubdomain, SuggestName}
	portForm       = spelling{schema.InvalidName, "be a port's number, or its " + wantPort, portName, unquotedPort}
	dataKeyForm    = spelling{schema.InvalidName, `be letters, digits, "-", "_" and "."`, dataKey, nil}
	labelKeyForm   = spelling{schema.InvalidName, wantLabelKey, qualifiedName, nil}
	finalizerForm  = spelling{schema.InvalidName, `have a domain and "/" in front`, finalizer, nil}
	absoluteForm   = spelling{schema.InvalidValue, `start with "/"`, func(path string) bool { return strings.HasPrefix(path, "/") }, nil}
	descendingForm = spelling{schema.InvalidValue, `not start with "/", nor lead up by ".."`, descending, nil}
)

const (
	wantLabel     = `be lower-case letters, digits and "-", at most 63, and start and end with a letter or digit`
	wantSubdomain = `be lower-case letters, digits, "-" and ".", and start and end with a letter or digit`
	wantPort      = `name of at most 15 lower-case letters, digits and single "-", at least one of them a letter`
	wantLabelKey  = `be named with at most 63 letters, digits, "-", "_" and ".", with or without a domain and "/" in front`
)

// unquotedPort returns a hint for a port number in quotes, such as "8080".
func unquotedPort(name string) string {
	if spelled(name, 5, digit, digit) {
		return "remove the quotes"
	}
	return ""
}

// dataKey reports whether a text can be a key in a ConfigMap or Secret.
func dataKey(key string) bool {
	return spelled(key, 63, lower|upper|digit, lower|upper|digit|dash|underscore|dot) || legal(key, validation.IsConfigMapKey)
}

// finalizer reports whether a finalizer has a domain, or is one of Kubernetes from before domains were required.
func finalizer(name string) bool {
	return strings.Contains(name, "/") && qualifiedName(name) || slices.Contains([]string{"orphan", "foregroundDeletion", "kubernetes"}, name)
}

// descending reports whether a path is relative and does not leave its base.
func descending(path string) bool {
	return !strings.HasPrefix(path, "/") && !slices.Contains(strings.Split(path, "/"), "..")
}

// SuggestName returns a hint with the name that was probably meant.
func SuggestName(name string) string {
	if corrected := Corrected(name); corrected != "" {
		return `did you mean "` + corrected + `"?`
	}
	return ""
}

// SuggestObjectName returns a hint with the name that was probably meant, where ObjectName is asked for.
func SuggestObjectName(name string) string {
	labels := strings.Split(name, ".")
	for i, label := range labels {
		labels[i] = dashed(label)
	}
	corrected := strings.Join(labels, ".")
	if corrected == name || !ObjectName(corrected) {
		return ""
	}
	return `did you mean "` + corrected + `"?`
}

// Corrected returns the name in lower case with a dash for each invalid character, such as an underscore; "" if that does not help.
func Corrected(name string) string {
	if len(name) > 63 {
		return ""
	}
	corrected := dashed(name)
	if corrected == name || !ServiceName(corrected) {
		return ""
	}
	return corrected
}

// dashed returns the name in lower case with a dash for each character that is neither a letter nor a digit.
func dashed(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
}
