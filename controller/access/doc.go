// Package access answers one question: WHO MAY READ THE METRICS?
//
// Without it, anyone who reaches the address may. With it, the address serves TLS, and the API server is asked who each scraper is
// (TokenReview) and whether it may (SubjectAccessReview), as other components of Kubernetes do.
//
//	gate         the answers to requests, and what is asked of the API server
//	certificate  the certificate: files that are read again when they change, or one made in memory. The conversion webhook uses it, too
package access
