module peer_net_http

go 1.21
