package coro

// Future is a value that arrives later. The zero value has not arrived yet.
type Future[T any] struct {
	value T
	err   error
	ready bool
	list  List
}

// Set sets the future's value or error and wakes its waiters. Only the first call counts; later
// ones do nothing and return false.
func (f *Future[T]) Set(s *Scheduler, value T, err error) bool {
	if f.ready {
		return false
	}
	f.value, f.err, f.ready = value, err, true
	f.list.WakeAll(s)
	return true
}

// Ready reports whether the value has arrived.
func (f *Future[T]) Ready() bool { return f.ready }

// Peek returns the value and error without waiting; both are zero until they have arrived.
func (f *Future[T]) Peek() (T, error) { return f.value, f.err }

// Waiters returns the list of the coroutines that wait for the value.
func (f *Future[T]) Waiters() *List { return &f.list }

// Get waits until the value has arrived or the scope is canceled. If the value has arrived, Get
// returns it under a canceled scope, too.
func (f *Future[T]) Get(s *Scheduler, scope *Scope) (T, error) {
	for !f.ready {
		if err := scope.Err(); err != nil {
			var zero T
			return zero, err
		}
		s.Park(scope, nil, s.Known(OnFuture, &f.list))
	}
	return f.value, f.err
}
