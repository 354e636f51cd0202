module github.com/seed-41655fb1/weft

go 1.26.0
