package check

import (
	"slices"

	"stoic/schema"
)

// The codes of problems of a definition. The list is closed: codes are added, never renamed. They are neither codes of objects nor
// labels of metrics.
const (
	NotStructural        schema.Code = "NotStructural"
	RefusedByServer      schema.Code = "RefusedByServer"
	RuleRefused          schema.Code = "RuleRefused"
	DefaultRefused       schema.Code = "DefaultRefused"
	StatusBlocked        schema.Code = "StatusBlocked"
	StatusAtRisk         schema.Code = "StatusAtRisk"
	FieldDropped         schema.Code = "FieldDropped"
	NoStatusSubresource  schema.Code = "NoStatusSubresource"
	NoStatusSchema       schema.Code = "NoStatusSchema"
	NoObservedGeneration schema.Code = "NoObservedGeneration"
	ListReplaced         schema.Code = "ListReplaced"
	UnknownFieldsKept    schema.Code = "UnknownFieldsKept"
	TooLargeForApply     schema.Code = "TooLargeForApply"
	VersionsDiffer       schema.Code = "VersionsDiffer"
	ScalePath            schema.Code = "ScalePath"
	ColumnPath           schema.Code = "ColumnPath"
	RejectsStored        schema.Code = "RejectsStored"
	PrunesStored         schema.Code = "PrunesStored"
	VersionRemoved       schema.Code = "VersionRemoved"
)

// Topic says what a code means, what to do about it, and whether it is an error.
type Topic struct {
	Code            schema.Code
	Meaning, Remedy string
	Error           bool // else it is a warning
}

// Topics lists every code, in the order of the kinds of problems.
func Topics() []Topic {
	return []Topic{
		{NotStructural, "The schema is not structural: API servers refuse it.", "Give every field a type, outside of anyOf, oneOf, allOf and not.", true},
		{RefusedByServer, "The API server refuses the definition, or the change of it.", "Do what the message asks for.", true},
		{RuleRefused, "A rule in CEL does not compile, or may cost more than an API server allows.", "Correct the rule; bound the strings, lists and maps that it reads by maxLength, maxItems and maxProperties.", true},
		{DefaultRefused, "A default does not fit the schema of its own field.", "Change the default or the schema.", true},
		{NoStatusSchema, "There is a status subresource, and the schema has no status: API servers drop all that is written there.", "Describe the status in the schema, or remove the subresource if nothing writes a status.", false},
		{ScalePath, "A path of the scale subresource leads to no field of the right type: kubectl scale and autoscalers fail.", "Name an integer in the spec, an integer in the status, and a string in the status or spec.", true},
		{StatusBlocked, "A rule in CEL is evaluated whenever the status of an object changes, and its failure is never ignored: while an object violates it, no condition can be written. This holds for rules on the whole object, which includes the status, and for rules with oldSelf. A rule is reported with a value that the schema allows and that it refuses where nothing changes. API servers do not check any other constraint of the spec when the status is written.",
			"Move the rule to the field that it is about, leave it to the operator, or let a rule with oldSelf hold where nothing changes.", false},
		{StatusAtRisk, "A rule in CEL cannot be evaluated on a value that the schema allows, such as one without an optional field. From Kubernetes 1.30 on, the failure of a rule is ignored when only the status is written, but an error in its evaluation is not: no status can be written to such an object.",
			"Guard optional fields in the rule by has().", false},
		{FieldDropped, "The definition has a field that API servers do not know: they drop it with a warning, and kubectl apply, which asks them to be strict, fails.", "Correct the name or the place of the field, or remove it.", false},
		{NoStatusSubresource, "The schema has a status, and there is no status subresource: a client that may write the status may write the spec, every write of the status changes the generation, and an author's write of the whole object overwrites the status.", "Add subresources: {status: {}}; as a marker +kubebuilder:subresource:status.", false},
		{NoObservedGeneration, "The status has conditions, and neither it nor they have an observedGeneration: clients cannot know whether a condition is about the present spec.", "Add status.observedGeneration, an integer of format int64, and write it.", false},
		{ListReplaced, "A list does not say how it is merged: server-side apply replaces it whole, so that two authors of one list undo each other's work.", "Add x-kubernetes-list-type: map with keys, set, or atomic if that is meant; as a marker +listType.", false},
		{UnknownFieldsKept, "The whole object keeps unknown fields: a misspelt field is stored without a word, and is in the way if the schema gets a field of that name.", "Remove x-kubernetes-preserve-unknown-fields from the root, and put it on the fields that need it.", false},
		{TooLargeForApply, "A plain kubectl apply fails: it keeps the whole definition in an annotation, and all annotations of an object together hold 262144 bytes.", "Shorten descriptions, or install it by kubectl apply --server-side or kubectl create.", false},
		{VersionsDiffer, "Several versions have different fields, and nothing converts between them: what only one of them has is dropped when an object is written in another one.", "Give them the same fields, or convert by a webhook.", false},
		{ColumnPath, "The path of a printer column names no field of the schema: the column is always empty.", "Correct the path.", false},
		{RejectsStored, "An object that the former definition allows is refused by the new one. It is still read and served; writes of it are refused, but for unchanged values, which API servers forgive from Kubernetes 1.30 on.", "Keep the constraint as it was, add a new version of the resource, or correct the objects first: stoic validate --crd NEW checks them.", true},
		{PrunesStored, "Objects may have a field that the new definition does not have: it is dropped when they are read, and is gone with the next write.", "Keep the field, or keep unknown fields in its place.", true},
		{VersionRemoved, "A version is gone that clients use or that objects are stored in.", "Keep the version, with served: false if no client uses it, until all objects are stored in another one and status.storedVersions does not name it.", true},
	}
}

// Codes lists every code.
func Codes() (all []schema.Code) {
	for _, t := range Topics() {
		all = append(all, t.Code)
	}
	return all
}

// TopicOf returns the topic of a code; nil if it is not in Codes.
func TopicOf(code schema.Code) *Topic {
	topics := Topics()
	i := slices.IndexFunc(topics, func(t Topic) bool { return t.Code == code })
	if i < 0 {
		return nil
	}
	return &topics[i]
}

// IsError reports whether a problem of this code is an error, and not a warning.
func IsError(code schema.Code) bool {
	t := TopicOf(code)
	return t == nil || t.Error
}
