// Package conversion answers one question: IN WHICH VERSION DOES AN API SERVER GET ITS OBJECTS?
//
// It is the webhook that the spec.conversion of a CRD names. API servers send it a ConversionReview of apiextensions.k8s.io/v1 for every
// object that is stored in one version and requested in another, one by one as they read them: a LIST of 1,000 makes 1,000 requests, one
// after the other. A single error fails the whole LIST, for every client. So the webhook answers with the object whatever is in it; what
// it does not understand passes through.
//
//	webhook   requests: what is answered, and how much memory they may take together
//	review    one ConversionReview: its objects, in order
//	metrics   what is counted
package conversion
