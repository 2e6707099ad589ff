"""Define what every fit returns, and why a fit has its status."""
