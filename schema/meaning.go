package schema

// Meaning returns one sentence that says what a code means. It is empty for a code that is not in Codes.
func (c Code) Meaning() string { return c.explain().meaning }

// Remedy returns one sentence that says what to do about a code. It is empty for a code that is not in Codes.
func (c Code) Remedy() string { return c.explain().remedy }

// Severity says in one sentence what a problem of this code does to the job.
func (c Code) Severity() string {
	switch c {
	case UnknownField, MisplacedField:
		return "Warning: the job runs. Outside of pod templates, kubectl apply may refuse the field by itself."
	case Conflict:
		return "Error: the job is rejected. Only a restart policy in a pod template and a gang larger than the job are warnings."
	case DuplicateName:
		return "Error: the job is rejected. Only a key that is in the text twice, which no cluster sees, is a warning."
	case InvalidValue:
		return "Error: the job is rejected. Only what a plug-in or another version of Kubernetes may know, and what is odd about the text, which no cluster sees, are warnings."
	case Immutable:
		return "Error: the API server refuses the change, and the job stays as it was."
	}
	if c.Meaning() == "" {
		return ""
	}
	return "Error: the job is rejected."
}

type explanation struct{ meaning, remedy string }

func (c Code) explain() explanation {
	switch c {
	case TypeMismatch:
		return explanation{"A value has another type than its field: a number where a string belongs, a list where an object belongs.",
			"Write the value as the message asks for; a number or a word like `yes` that shall be a string needs quotes."}
	case UnknownField:
		return explanation{"A field is not part of the API. This is a warning: the field has no effect and the job runs.",
			"Use the name that the message suggests, or remove the field."}
	case MisplacedField:
		return explanation{"A field exists, but not at this place, or another field decides instead. This is a warning: the job runs, and the field has no effect unless the message says that it is used.",
			"Move it to the place that the message names, or remove it."}
	case MissingField:
		return explanation{"A field that must be set is absent or empty.",
			"Add the field; the message says what it is for where that is not plain."}
	case InvalidValue:
		return explanation{"A value has the right type but is not one that the field can take.",
			"Choose one of the values, or the form, that the message names."}
	case OutOfRange:
		return explanation{"A number is too small or too large for its field.",
			"Choose a number within the bounds that the message names."}
	case UnknownReplicaType:
		return explanation{"The kind has no replica type of this name.",
			"Use one of the names that the message lists."}
	case ReplicaCount:
		return explanation{"All replica types together ask for no replica, or for more than a job may have.",
			"Change `replicas` of one or more replica types."}
	case MissingContainer:
		return explanation{"No container of a replica has the name of the container that trains.",
			"Give one container the name that the message asks for."}
	case DuplicateName:
		return explanation{"Two entries have the same name where each must have its own; for replica types, names that differ only in case are the same.",
			"Rename or remove one of them."}
	case Conflict:
		return explanation{"Two parts of the job exclude each other.",
			"Keep one of the parts that the message names."}
	case Immutable:
		return explanation{"A field that may not change was changed.",
			"Set it back, or delete the job and create it again."}
	case InvalidName:
		return explanation{"A name cannot be the name of what it names, or leaves no room for the names that are made from it.",
			"Use the characters and the length that the message asks for."}
	case TooLarge:
		return explanation{"Something is larger than Kubernetes or Linux can take: nesting, annotations, or the environment made from the job.",
			"Make it smaller; for the environment, use fewer replicas or shorter names."}
	}
	return explanation{}
}
