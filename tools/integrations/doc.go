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
// test/fixtures/states, written by the main module, has the stored objects of a job of each kind in each state. How a program reads them
// is implemented here from its description, in a few lines per program, unless a library does it. Each rule is also given a wrong status,
// and must notice it.
//
// It is a module of its own: the operator depends on none of these libraries.
package integrations
