package versions

// Kind is a kind of custom resources that is served in several versions. It is data, which its method Converter checks.
type Kind struct {
	Group, Name string
	// Hub is the version that is stored. All others are converted to it and from it.
	Hub string
	// Annotation is the key under which objects keep what their present version has no place for, such as "example.com/conversion".
	Annotation string
	// Versions are the other served versions.
	Versions []Version
}

// Version is the table of one version other than the hub. Places that it does not name are the same in both and mean the same.
// Places are the keys that lead to a value, with dots between: "spec.runPolicy.suspend". They lead through objects and not through
// lists. None may be in apiVersion, kind or metadata.
type Version struct {
	Name string
	// Moves are the values that both versions have, at different places or with different defaults.
	Moves []Move
	// Only are places that only this version has, and HubOnly places that only the hub has. They include everything below.
	Only, HubOnly []string
}

// Move is a value that both versions have.
type Move struct {
	// Here is its place in this version, Hub its place in the hub. They are equal if only the defaults of the value differ.
	Here, Hub string
	// Default is what an absent, null or empty value ("") means in this version; HubDefault is what it means in the hub. Each is a
	// string, bool, int64 or float64. Both are nil if the meaning is the same: then an absent value stays absent. Otherwise the
	// default is written out in the other version.
	Default, HubDefault any
	// HubInstead is a place of HubOnly whose value the hub uses if the one at Hub is absent, null or empty; "" if there is none. It
	// cannot be combined with defaults.
	HubInstead string
}

// Outcome is the outcome of the conversion of an object.
type Outcome string

const (
	// Converted: the object is converted by the tables, and can be converted back.
	Converted Outcome = "converted"
	// PassedThrough: only apiVersion has changed, because the object has no metadata for the annotation, or is nested too deep.
	// Between two versions other than the hub, the other of the two steps may still be done.
	PassedThrough Outcome = "passed_through"
	// NotKept: converted, but the annotation stays unchanged, because the API server would refuse the changed annotations. What the
	// version has no place for is lost.
	NotKept Outcome = "not_kept"
	// Panicked: only apiVersion has changed, because the converter has panicked, which is a defect of it.
	Panicked Outcome = "panicked"
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome { return []Outcome{Converted, PassedThrough, NotKept, Panicked} }

// Result is an object in another version.
type Result struct {
	// Object shares values that are equal in both versions with the object that was converted.
	Object  map[string]any
	Outcome Outcome
	// Why says why it was not converted, or not kept; "" if it was.
	Why string
	// Stack is the stack of a panic of the converter.
	Stack []byte
	// Lost are the places whose values are put aside, in the version that a step converts from: that of the object, or the hub on
	// the way. The annotation keeps the values unless the outcome is NotKept. Filled are places of the new version where a default
	// was written.
	Lost, Filled []string
}
