// Package offline answers one question: HOW DOES A MANIFEST THAT WAS WRITTEN FOR AN OLDER OPERATOR READ AS kubeflow.org/v1?
//
// The versions that a cluster can serve are tables, in package versions. Here are the forms that no webhook converts besides: an API
// server does not call one for another group or for the same version, some forms need what is not in the object, and what is lost is
// for a person to read. It is pure: `stoic convert` reads files and prints.
//
//	TFJob        v1beta2, v1beta1, v1alpha2, and v1 with a run policy that is flat in the spec
//	PyTorchJob   the same
//	MPIJob       v2beta1, v1alpha2, v1alpha1
//	XGBoostJob   v1, v1alpha1 of xgboostjob.kubeflow.org
//
// Convert is total: it has a Result or problems for every JSON object. Fields that neither form knows stay where they are.
package offline
