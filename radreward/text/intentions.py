"""Words for what is only to be done, such as a removal that is planned."""

INTENDED = r"(?:advised|considered|pending|planned|recommended|requested|scheduled|suggested)"
"""After what is to be done, in a regular expression of lowercase text."""
BEFORE_INTENDED = r"(?:advise|await(?:ing|s)?|before|consider|pending|recommend|suggest)"
"""Before it."""
