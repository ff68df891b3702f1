// Package integrations answers one question: WHAT DO OTHER PROGRAMS MAKE OF OUR JOBS?
//
//	argocd       the scripts of deploy/integrations/argocd in the Lua of Argo CD; the differences that it ignores
//	flux         the expressions of deploy/integrations/flux, as kustomize-controller evaluates them
//	kstatus      kstatus itself
//	metrics      the configuration of kube-state-metrics
//	katib        the conditions of deploy/integrations/katib
//	workflows    the conditions of deploy/integrations/argo-workflows; old Kubeflow Pipelines, arena, mlrun
//	kueue        when a job is finished, ready, active; its podsets and pods
//	flyte        which condition is the phase of a task
//	sdk          the Python SDK of training-operator 1.9
//
// What is stored of a job of each kind in each state is in test/fixtures/states, written by the main module. What a program does
// with it is written here from its description, in a few lines for each program, unless a library does it. Each rule is also
// shown a status that is wrong, and must notice.
//
// It is a module of its own: none of these libraries is a dependency of the operator.
package integrations
