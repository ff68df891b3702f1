// Package offline answers one question: HOW DOES A MANIFEST THAT WAS WRITTEN FOR AN OLDER OPERATOR READ AS kubeflow.org/v1?
//
// Package versions has tables for the versions that a cluster can serve. This package adds the forms that no conversion webhook
// handles: an API server does not call one for another group or for the same version, some forms need values that are not in the
// object, and a user must read what is lost. It is pure: `stoic convert` reads the files and prints.
//
//	TFJob        v1beta2, v1beta1, v1alpha2, and v1 with a run policy that is flat in the spec
//	PyTorchJob   the same
//	MPIJob       v2beta1, v1alpha2, v1alpha1
//	XGBoostJob   v1, v1alpha1 of xgboostjob.kubeflow.org
//
// Convert is total: it returns a Result or problems for every JSON object. Fields that neither form knows stay in place.
package offline
