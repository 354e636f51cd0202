package engine

import "fmt"

// declaredDocs is a contract whose comments the program publishes.
type declaredDocs struct {
	contract []byte
	where    string
}

// AddDocs adds a contract, as JSON, whose comments are those of the program. It returns an error
// that names both places if there is one.
func (r *Registry) AddDocs(contract []byte, where string) error {
	if r.docs.contract != nil {
		return fmt.Errorf("comments are registered twice: at %s and at %s", r.docs.where, where)
	}
	r.docs = declaredDocs{contract, where}
	return nil
}

// Docs returns the contract whose comments are those of the program, and where it was registered;
// nil if there is none.
func (r *Registry) Docs() (contract []byte, where string) { return r.docs.contract, r.docs.where }
