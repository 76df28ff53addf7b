"""The HTTP service behind `erukg serve`, its page, and reports made from that page.

`erukg.serving.app.create_app` is the service as an ASGI application, `erukg.serving.server.run` binds a port and serves
it in one or several processes. `erukg.serving.report` needs none of the service's packages.
"""
