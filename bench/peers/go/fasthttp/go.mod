module peer_fasthttp

go 1.24.0

require github.com/valyala/fasthttp v1.68.0
