// Package deploy answers one question: WHERE DOES IT RUN?
//
//	crd/         what a cluster must know: the kinds; generated, see schema/crd
//	rbac/        what the operator may do, and what users may do with its kinds
//	controller/  the operator itself: Deployment and Service
//	overlays/    what kubectl apply -k installs for common needs, of these and of components/
//	chart/       the same objects as a Helm chart; a test compares its copies with the others and writes them with -update
//	monitoring/  alerts and dashboards; generated, see its doc.go
//
// There are three ways to install, and all use the same files. kubectl apply -k deploy installs everything, kubectl apply -f deploy/crd
// only the kinds, helm install what its values say. The files are embedded in the program: stoic up installs them into its control plane,
// stoic explain reads the CRDs.
//
// The names (namespace kubeflow; Deployment, Service and ServiceAccount training-operator) are those of the operator that this one
// replaces, so that an apply over it takes over its objects.
package deploy
