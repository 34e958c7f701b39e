module ztensor

go 1.18
