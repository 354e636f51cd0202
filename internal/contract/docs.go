package contract

// AddDocs adds the comments that another document has for the same names, and for the same names of
// types and fields. It changes no text that is there already.
func (d *Document) AddDocs(from *Document) {
	add := func(text *string, other string) {
		if *text == "" {
			*text = other
		}
	}
	for name, w := range d.Workflows {
		other := from.Workflows[name]
		if other == nil {
			continue
		}
		add(&w.Doc, other.Doc)
		for name, u := range w.Updates {
			if o := other.Updates[name]; o != nil {
				add(&u.Doc, o.Doc)
			}
		}
		for name, q := range w.Queries {
			if o := other.Queries[name]; o != nil {
				add(&q.Doc, o.Doc)
			}
		}
		for name, g := range w.Signals {
			if o := other.Signals[name]; o != nil {
				add(&g.Doc, o.Doc)
			}
		}
		for name, t := range w.Topics {
			if o := other.Topics[name]; o != nil {
				add(&t.Doc, o.Doc)
			}
		}
		for name, m := range w.Memo {
			addDescription(m, other.Memo[name])
		}
	}
	for name, a := range d.Activities {
		if o := from.Activities[name]; o != nil {
			add(&a.Doc, o.Doc)
		}
	}
	for name, schema := range d.Defs {
		other := from.Defs[name]
		addDescription(schema, other)
		if schema == nil || other == nil {
			continue
		}
		mine, _ := schema.Nullable()
		others, _ := other.Nullable()
		for i := range mine.Properties {
			addDescription(mine.Properties[i].Schema, others.Property(mine.Properties[i].Name))
		}
	}
}

func addDescription(s, from *Schema) {
	if s != nil && from != nil && !s.Nothing && s.Description == "" {
		s.Description = from.Description
	}
}
