// Package access answers one question: WHO MAY READ THE METRICS?
//
// Without it whoever reaches the address may. With it the address speaks TLS, and the API server is asked of each scraper who
// it is (TokenReview) and whether it may (SubjectAccessReview), as other parts of Kubernetes do.
//
//	gate         the answers to requests, and what is asked of the API server
//	certificate  the certificate: files that are read again when they change, or one made in memory. The conversion webhook has one, too
package access
