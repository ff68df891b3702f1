// Package cache answers one question: WHAT DOES THE API SERVER HOLD?
//
// Objects are the custom resources of one watch, converted when they are received. Dependents are what such objects
// own, reduced to what decisions need and indexed by owner. Both are informers that run for as long as the API server
// serves their resource.
//
//	availability   is the resource served? A CRD that is missing, late, deleted or recreated shows in a gauge and a log line
//	  discovery    asks the API server: one request without a body for all absent resources, as long as nothing changes
//	client         a dynamic.Interface for dynamicinformer: its lists and watches go through
//	  pages        lists page by page and cuts down each page before the next
//	  retry        retries transient failures at a short interval
//	  position     refuses to resume a watch from a version that the store has not reached
//	  watch_errors reports errors inside of a watch
//	objects        converted custom resources
//	dependents     children by owner
//	  readers      lists and watches them: untyped, or pods and services with package lean
package cache
