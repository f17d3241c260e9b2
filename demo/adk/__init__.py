"""An SRE agent on Google ADK, three times: alone, with ADK's own filter, and with ullage."""
