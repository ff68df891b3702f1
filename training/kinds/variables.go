package kinds

import "stoic/training"

// unbuffered makes Python write its output at once, so that logs are complete when a pod ends.
func unbuffered() training.EnvVar {
	return training.EnvVar{Name: "PYTHONUNBUFFERED", Value: "1", UserWins: true}
}

func unbufferedVariable() training.Variable {
	return training.Variable{Name: "PYTHONUNBUFFERED", UserWins: true}
}

// rendezvousVariables documents variables that describe how the replicas find each other. Their values belong together, so
// the operator's replace the user's.
func rendezvousVariables(when string, names ...string) []training.Variable {
	variables := make([]training.Variable, len(names))
	for i, name := range names {
		variables[i] = training.Variable{Name: name, When: when}
	}
	return variables
}

// preferredVariables documents variables that the user's replace.
func preferredVariables(when string, names ...string) []training.Variable {
	variables := rendezvousVariables(when, names...)
	for i := range variables {
		variables[i].UserWins = true
	}
	return variables
}
