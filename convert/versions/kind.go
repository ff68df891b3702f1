package versions

// Kind is a kind of custom resources that is served in several versions. It is data; Converter checks it.
type Kind struct {
	Group, Name string
	// Hub is the version that is stored. All others are converted to it and from it.
	Hub string
	// Annotation is the key under which objects keep what their present version has no place for, such as
	// "example.com/conversion".
	Annotation string
	// Versions are the other served versions.
	Versions []Version
}

// Version is the table of one version that is not the hub. What it does not name stands at the same place in both and means the
// same. Places are the keys that lead to a value, with dots between: "spec.runPolicy.suspend". They lead through objects and not
// through lists; none may be in apiVersion, kind or metadata.
type Version struct {
	Name string
	// Moves are the values that both have, at different places or with different defaults.
	Moves []Move
	// Only are places that this version has and the hub has not; HubOnly those that the hub alone has. They stand for all that
	// is below.
	Only, HubOnly []string
}

// Move is a value that both versions have.
type Move struct {
	// Here is its place in this version, Hub that in the hub. They are the same for a value of which the defaults alone differ.
	Here, Hub string
	// Default is what this version means by an absent, null or empty value ("" is one); HubDefault is what the hub means. A string,
	// bool, int64 or float64. Both are nil if that is the same: then an absent value stays absent. Otherwise the default is
	// written out in the other version.
	Default, HubDefault any
	// HubInstead is a place, one of HubOnly, whose value the hub takes where the one at Hub is absent, null or empty; "" if there is
	// none. It cannot be had together with defaults.
	HubInstead string
}

// Outcome says what became of an object that was converted.
type Outcome string

const (
	// Converted as the tables say, and back again if it is wanted.
	Converted Outcome = "converted"
	// PassedThrough: only apiVersion has changed, as the object has no metadata that could keep anything, or is nested too deep.
	PassedThrough Outcome = "passed_through"
	// NotKept: converted, but the annotation stays as it came, since the API server would refuse annotations with the right one. What
	// the version has no place for is lost.
	NotKept Outcome = "not_kept"
	// Panicked: only apiVersion has changed, as the converter has panicked, which is a defect of it.
	Panicked Outcome = "panicked"
)

// Outcomes are all there are.
func Outcomes() []Outcome { return []Outcome{Converted, PassedThrough, NotKept, Panicked} }

// Result is an object in another version.
type Result struct {
	// Object shares with the one that was converted what is the same in both.
	Object  map[string]any
	Outcome Outcome
	// Why it was not converted, or not kept; "" if it was.
	Why string
	// Stack is where the converter has panicked.
	Stack []byte
	// Lost are the places of the version it comes from that the new one has no place for. The annotation keeps them unless the
	// outcome is NotKept. Filled are places of the new version that a default was written to.
	Lost, Filled []string
}
