"""Asking a vision-language model: from a query to a request, and from its text to an answer.

``Query -> interfaces.compose -> Request -> Endpoint.stream -> text -> reply.read -> Answer``. A
:class:`~streaming.asking.request.Request` is plain content that any provider can be sent; an
:class:`~streaming.asking.endpoint.Endpoint` is one provider's model, and the only part that knows
its library. :class:`~streaming.asking.asked.AskedModel` joins them into a model of the pipeline.
"""
