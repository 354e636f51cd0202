package coro

// Future is a value that will come. The zero value has not come yet.
type Future[T any] struct {
	value T
	err   error
	ready bool
	list  List
}

// Set gives the future its value or error and wakes those that wait for it. The first call counts; later ones do
// nothing and return false.
func (f *Future[T]) Set(s *Scheduler, value T, err error) bool {
	if f.ready {
		return false
	}
	f.value, f.err, f.ready = value, err, true
	f.list.WakeAll(s)
	return true
}

// Ready reports whether the value has come.
func (f *Future[T]) Ready() bool { return f.ready }

// Peek returns the value and error without waiting; both are zero until they have come.
func (f *Future[T]) Peek() (T, error) { return f.value, f.err }

// Waiters are those that wait for the value.
func (f *Future[T]) Waiters() *List { return &f.list }

// Get waits until the value has come or the scope is canceled. A value that has come wins over a canceled scope.
func (f *Future[T]) Get(s *Scheduler, scope *Scope) (T, error) {
	for !f.ready {
		if err := scope.Err(); err != nil {
			var zero T
			return zero, err
		}
		s.Park(scope, nil, &f.list)
	}
	return f.value, f.err
}
